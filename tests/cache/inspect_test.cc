// Reports on a cache: above all the cause of a miss, for every cause there is.
#include "jit/cache/inspect.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/cache/disk_store.h"
#include "jit/cache/location.h"
#include "tests/cache/testing.h"

namespace tektite::cache {
namespace {

using ::testing::ElementsAre;

std::unique_ptr<DiskStore> OpenAt(const std::string& path) {
  DiskStoreOptions options;
  options.directory = path;
  return DiskStore::Open(options);
}

Inspector Inspect(const TestFolder& folder) {
  auto inspector = Inspector::Open(folder.path());
  EXPECT_TRUE(inspector.ok()) << inspector.status();
  return *std::move(inspector);
}

// For entries of each kind; the other kind's are never the nearest.
class WhyTest : public ::testing::TestWithParam<EntryKind> {
 protected:
  WhyTest() {
    Store(Softmax());
    Store(
        TestKey("softmax of another kind",
                static_cast<EntryKind>((static_cast<uint32_t>(GetParam()) + 1) % kNumEntryKinds)));
  }
  static CacheKey Softmax() { return TestKey("softmax", GetParam()); }
  void Store(const CacheKey& key) { OpenAt(folder_.path())->Store(key, "image"); }
  std::string File() const { return folder_ / (Softmax().fingerprint.Hex() + kEntrySuffix); }

  // The explanation of the next run's miss when its key differs in these parts.
  Explanation Missed(const std::vector<KeyPart>& parts, const std::string& new_text = "other") {
    CacheKey key = Softmax();
    std::string all;
    for (KeyPart part : parts) {
      key.parts[static_cast<size_t>(part)] = new_text;
      all += std::string(KeyPartName(static_cast<size_t>(part)));
    }
    if (!parts.empty()) key.fingerprint = FingerprintOf(all + new_text);
    return MissedKey(key);
  }
  Explanation MissedKey(const CacheKey& key) {
    {
      auto store = OpenAt(folder_.path());
      EXPECT_EQ(store->Load(key.fingerprint, [&] { return key; }), std::nullopt);
      // A run's own entries explain nothing: this one would be equal in every part.
      store->Store(key, "image");
    }
    const std::vector<LoggedRun> runs = ReadRuns(folder_.path(), 1);
    EXPECT_EQ(runs.size(), 1u);
    const std::vector<Explanation> all = Inspect(folder_).Why(runs.front());
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? Explanation{} : all.front();
  }

  TestFolder folder_;
};

TEST_P(WhyTest, Ir) { EXPECT_THAT(Missed({KeyPart::kIr}).causes, ElementsAre("ir")); }
TEST_P(WhyTest, Types) {
  const Explanation e = Missed({KeyPart::kIr, KeyPart::kTypes});
  EXPECT_THAT(e.causes, ElementsAre("types"));
  EXPECT_EQ(e.nearest, Softmax().fingerprint.Hex());
  EXPECT_EQ(e.sentence, "other shapes or element types");
}
TEST_P(WhyTest, Facts) {
  EXPECT_THAT(Missed({KeyPart::kIr, KeyPart::kFacts}).causes, ElementsAre("facts"));
}
TEST_P(WhyTest, Cpu) { EXPECT_THAT(Missed({KeyPart::kCpu}).causes, ElementsAre("cpu")); }
TEST_P(WhyTest, Build) { EXPECT_THAT(Missed({KeyPart::kBuild}).causes, ElementsAre("build")); }
TEST_P(WhyTest, Llvm) {
  EXPECT_THAT(Missed({KeyPart::kBuild, KeyPart::kLlvm}).causes, ElementsAre("build", "llvm"));
}
TEST_P(WhyTest, Flags) { EXPECT_THAT(Missed({KeyPart::kFlags}).causes, ElementsAre("flags")); }
TEST_P(WhyTest, Host) { EXPECT_THAT(Missed({KeyPart::kHost}).causes, ElementsAre("host")); }

TEST_P(WhyTest, Absent) {
  const Explanation e = Missed({KeyPart::kOps, KeyPart::kIr});
  EXPECT_THAT(e.causes, ElementsAre("absent"));
  EXPECT_EQ(e.nearest, "");
}

TEST_P(WhyTest, TheNearestEntryIsTheOneThatDiffersLeast) {
  CacheKey far = Softmax();
  for (KeyPart part : {KeyPart::kCpu, KeyPart::kFlags, KeyPart::kBuild}) {
    far.parts[static_cast<size_t>(part)] = "far";
  }
  far.fingerprint = FingerprintOf("far");
  Store(far);
  EXPECT_EQ(Missed({KeyPart::kFlags}).nearest, Softmax().fingerprint.Hex());
}

TEST_P(WhyTest, Evicted) {
  EXPECT_EQ(Inspect(folder_).Collect(0).entries, 2);
  EXPECT_THAT(Missed({}).causes, ElementsAre("evicted"));
}

TEST_P(WhyTest, Damaged) {
  std::filesystem::resize_file(File(), 100);
  EXPECT_THAT(Missed({}).causes, ElementsAre("damaged"));
}

TEST_P(WhyTest, Foreign) {
  std::fstream file(File(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8);
  file.put(99);
  file.close();
  EXPECT_THAT(Missed({}).causes, ElementsAre("foreign"));
}

TEST_P(WhyTest, Refused) {
  chmod(File().c_str(), 0666);
  EXPECT_THAT(Missed({}).causes, ElementsAre("refused"));
}

// A process that has used up its descriptors cannot read what is there.
TEST_P(WhyTest, Unreadable) {
  auto store = OpenAt(folder_.path());
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto loaded = store->Load(Softmax().fingerprint, [] { return Softmax(); });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(loaded, std::nullopt);
  store.reset();
  const std::vector<LoggedRun> runs = ReadRuns(folder_.path(), 1);
  ASSERT_EQ(runs.size(), 1u);
  const std::vector<Explanation> all = Inspect(folder_).Why(runs.front());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(all.front().causes, ElementsAre("unreadable"));
  EXPECT_EQ(all.front().nearest, Softmax().fingerprint.Hex());
}

TEST_P(WhyTest, ARunThatMissedNothing) {
  const CacheKey key = Softmax();
  EXPECT_TRUE(OpenAt(folder_.path())->Load(key.fingerprint, [&] { return key; }).has_value());
  const std::vector<LoggedRun> runs = ReadRuns(folder_.path(), 5);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].hits, 1);
  EXPECT_TRUE(runs[0].misses.empty());
  EXPECT_THAT(runs[0].used, ElementsAre(key.fingerprint.Hex()));
  EXPECT_THAT(runs[2].used, ElementsAre(key.fingerprint.Hex())) << "what it compiled";
}

INSTANTIATE_TEST_SUITE_P(Kinds, WhyTest,
                         ::testing::Values(EntryKind::kKernel, EntryKind::kModule,
                                           EntryKind::kTuning, EntryKind::kDecision),
                         [](const auto& info) { return std::string(EntryKindName(info.param)); });

TEST(RunLog, KeepsTheNewestRuns) {
  TestFolder folder;
  for (int i = 0; i < 40; ++i) {
    RunLog log(folder.path());
    log.Used(FingerprintOf(std::to_string(i)), RunLog::From::kDisk);
  }
  const std::vector<LoggedRun> runs = ReadRuns(folder.path(), 100);
  EXPECT_EQ(runs.size(), 32u);
  EXPECT_THAT(runs[0].used, ElementsAre(FingerprintOf("39").Hex()));
}

TEST_P(WhyTest, AKeyThatIsAskedForTwiceIsOneMiss) {
  auto store = OpenAt(folder_.path());
  for (const char* name : {"a", "b", "a"}) {
    store->Load(TestKey(name).fingerprint, [&] { return TestKey(name); });
  }
  store.reset();
  const std::vector<LoggedRun> runs = ReadRuns(folder_.path(), 1);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].misses.size(), 2u);
}

TEST(RunLog, NonsenseIsPassedOver) {
  TestFolder folder;
  std::filesystem::create_directory(folder / kRunFolder);
  chmod((folder / kRunFolder).c_str(), 0700);
  std::ofstream(folder / "run/1-2.log")
      << "run x y\nmiss\nmiss a b c d e\nhit\n\n\xFF\nmiss k absent kernel 1,2 name\nhit abc\n";
  const std::vector<LoggedRun> runs = ReadRuns(folder.path(), 100);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_THAT(runs[0].used, ElementsAre("abc"));
  EXPECT_TRUE(runs[0].misses.empty());
}

TEST(Inspector, ListsAndFinds) {
  TestFolder folder;
  OpenAt(folder.path())->Store(TestKey("a"), "image");
  OpenAt(folder.path())->Store(TestKey("b"), "image");
  const std::string a = TestKey("a").fingerprint.Hex(), b = TestKey("b").fingerprint.Hex();
  std::filesystem::resize_file(folder / (b + kEntrySuffix), 50);
  const Inspector inspector = Inspect(folder);
  for (const ListedEntry& entry : inspector.List()) {
    EXPECT_EQ(entry.good, entry.key == a);
    EXPECT_EQ(entry.fault, entry.key == a ? "" : "damaged");
  }
  auto found = inspector.Find(a.substr(0, 8));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->name, "a");
  EXPECT_EQ(found->payload_bytes, 5);
  EXPECT_TRUE(absl::IsNotFound(inspector.Find("xyz").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(inspector.Find("").status()));
  // Packed entries are whole, and other users can read them.
  const auto nothing = [](const Entry&) { return std::vector<std::string>(); };
  auto packed = inspector.Pack({a, b, "gone"}, folder / "model/tektite_pack", nothing);
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(packed->entries, 1);
  EXPECT_EQ(packed->held, 0);
  struct stat info;
  ASSERT_EQ(stat((folder / ("model/tektite_pack/" + a + kEntrySuffix)).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
  // A kernel that another entry holds is not packed twice.
  packed = inspector.Pack({a}, folder / "other/tektite_pack",
                          [&](const Entry&) { return std::vector<std::string>{a}; });
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(packed->entries, 0);
  EXPECT_EQ(packed->held, 1);
  EXPECT_TRUE(inspector.Remove(a));
  EXPECT_FALSE(inspector.Remove(a));
  EXPECT_TRUE(absl::IsNotFound(Inspector::Open(folder / "none").status()));
  EXPECT_TRUE(absl::IsNotFound(Inspector::Open("").status()));
}

}  // namespace
}  // namespace tektite::cache
