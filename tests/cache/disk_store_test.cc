// The disk store: entries outlive it, and whatever happens to them is a miss and a counter.
#include "jit/cache/disk_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "jit/cache/evict.h"
#include "jit/cache/location.h"
#include "tests/cache/testing.h"

namespace tektite::cache {
namespace {

std::unique_ptr<DiskStore> OpenAt(const std::string& path, int64_t max_bytes = 1 << 20) {
  DiskStoreOptions options;
  options.directory = path;
  options.max_bytes = max_bytes;
  return DiskStore::Open(options);
}

std::optional<std::string> Load(DiskStore& store, const std::string& name) {
  const CacheKey key = TestKey(name);
  return store.Load(key.fingerprint, [&] { return key; });
}

std::string FileOf(const TestFolder& folder, const std::string& name) {
  return folder / (TestKey(name).fingerprint.Hex() + kEntrySuffix);
}

TEST(DiskStore, LaterStoresReadWhatEarlierOnesWrote) {
  TestFolder folder;
  auto store = OpenAt(folder.path());
  EXPECT_EQ(Load(*store, "a"), std::nullopt);
  store->Store(TestKey("a"), "image of a");
  EXPECT_EQ(Load(*store, "a"), "image of a");
  auto later = OpenAt(folder.path());
  EXPECT_EQ(Load(*later, "a"), "image of a");
  EXPECT_EQ(later->counters().hits, 1);
  EXPECT_EQ(later->counters().misses, 0);
  EXPECT_EQ(store->counters().misses, 1);
  EXPECT_EQ(store->counters().stores, 1);
}

TEST(DiskStore, DamageIsAMissAndTheFileGoes) {
  TestFolder folder;
  auto store = OpenAt(folder.path());
  store->Store(TestKey("a"), "image of a");
  {
    std::fstream file(FileOf(folder, "a"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(200);
    file.put('~');
  }
  EXPECT_EQ(Load(*store, "a"), std::nullopt);
  EXPECT_EQ(store->counters().damaged, 1);
  EXPECT_FALSE(std::filesystem::exists(FileOf(folder, "a")));
  store->Store(TestKey("a"), "image of a");
  EXPECT_EQ(Load(*store, "a"), "image of a");
}

std::string Said(const std::function<void()>& what) {
  ::testing::internal::CaptureStderr();
  what();
  return ::testing::internal::GetCapturedStderr();
}

TEST(DiskStore, TheFirstBadFileOfAKindIsALine) {
  TestFolder folder;
  auto store = OpenAt(folder.path());
  for (const char* name : {"a", "b", "c", "d"}) store->Store(TestKey(name), "image");
  for (const char* name : {"a", "b"}) std::filesystem::resize_file(FileOf(folder, name), 100);
  for (const char* name : {"c", "d"}) chmod(FileOf(folder, name).c_str(), 0666);
  const std::string damaged = Said([&] {
    for (const char* name : {"a", "b"}) EXPECT_EQ(Load(*store, name), std::nullopt);
  });
  EXPECT_EQ(damaged, absl::StrCat("tektite: cache file '", FileOf(folder, "a"),
                                  "' is damaged: it is not used, nor are others like it; code is "
                                  "compiled instead\n"));
  const std::string refused = Said([&] {
    for (const char* name : {"c", "d"}) EXPECT_EQ(Load(*store, name), std::nullopt);
  });
  EXPECT_EQ(refused, absl::StrCat("tektite: cache file '", FileOf(folder, "c"),
                                  "' is another user's, or others can write it: it is not used, "
                                  "nor are others like it; code is compiled instead\n"));
  EXPECT_EQ(Said([&] { Load(*store, "absent"); }), "");
}

TEST(DiskStore, ForeignAndRefusedFilesStayWhereTheyAre) {
  TestFolder folder;
  auto store = OpenAt(folder.path());
  store->Store(TestKey("a"), "image of a");
  {
    std::fstream file(FileOf(folder, "a"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(8);
    file.put(99);
  }
  EXPECT_EQ(Load(*store, "a"), std::nullopt);
  EXPECT_EQ(store->counters().foreign, 1);
  EXPECT_TRUE(std::filesystem::exists(FileOf(folder, "a")));
  store->Store(TestKey("b"), "image of b");
  chmod(FileOf(folder, "b").c_str(), 0666);
  EXPECT_EQ(Load(*store, "b"), std::nullopt);
  EXPECT_EQ(store->counters().refused, 1);
}

TEST(DiskStore, AnEntryUnderAnothersNameIsRefused) {
  TestFolder folder;
  auto store = OpenAt(folder.path());
  store->Store(TestKey("a"), "image of a");
  std::filesystem::rename(FileOf(folder, "a"), FileOf(folder, "b"));
  EXPECT_EQ(Load(*store, "b"), std::nullopt);
  EXPECT_EQ(store->counters().damaged, 1);
}

TEST(DiskStore, ADirectoryToReadOnlyServesAndIsNotWritten) {
  TestFolder folder;
  OpenAt(folder / "cache")->Store(TestKey("a"), "image of a");
  DiskStoreOptions options;
  options.packs = {folder / "cache"};
  chmod((folder / "cache").c_str(), 0500);
  auto store = DiskStore::Open(options);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Load(*store, "a"), "image of a");
  EXPECT_EQ(store->counters().pack_hits, 1);
  store->Store(TestKey("b"), "image of b");
  EXPECT_EQ(Load(*store, "b"), std::nullopt);
  EXPECT_EQ(store->counters().stores, 0);
  EXPECT_EQ(store->counters().store_errors, 0);
  store.reset();
  EXPECT_EQ(CountFiles(folder / "cache", kEntrySuffix), 1);
  // The cache directory comes first, packs second.
  options.directory = folder / "own";
  store = DiskStore::Open(options);
  store->Store(TestKey("b"), "image of b");
  EXPECT_EQ(Load(*store, "b"), "image of b");
  EXPECT_EQ(Load(*store, "a"), "image of a");
  EXPECT_EQ(store->counters().hits, 1);
  EXPECT_EQ(store->counters().pack_hits, 1);
}

// Root loaded, and so ran, a pack that belonged to the user `nobody`.
TEST(DiskStore, APackOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  TestFolder folder;
  OpenAt(folder / "pack")->Store(TestKey("a"), "image of a");
  DiskStoreOptions options;
  options.packs = {folder / "pack"};
  EXPECT_NE(DiskStore::Open(options), nullptr);
  ASSERT_EQ(chown((folder / "pack").c_str(), 65534, 65534), 0);
  EXPECT_EQ(DiskStore::Open(options), nullptr);
  // An entry of another user in a pack that is ours.
  ASSERT_EQ(chown((folder / "pack").c_str(), geteuid(), getegid()), 0);
  ASSERT_EQ(chown((folder / ("pack/" + TestKey("a").fingerprint.Hex() + kEntrySuffix)).c_str(),
                  65534, 65534),
            0);
  auto store = DiskStore::Open(options);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Load(*store, "a"), std::nullopt);
  EXPECT_EQ(store->counters().refused, 1);
}

TEST(DiskStore, NothingToReadOrWriteIsNoStore) {
  TestFolder folder;
  EXPECT_EQ(DiskStore::Open(DiskStoreOptions{}), nullptr);
  std::filesystem::create_directory_symlink(folder.path(), folder / "link");
  EXPECT_EQ(OpenAt(folder / "link"), nullptr);
  std::ofstream(folder / "file") << "x";
  EXPECT_EQ(OpenAt(folder / "file"), nullptr);
}

TEST(DiskStore, KeepsItsBoundByDroppingTheLeastRecentlyUsed) {
  TestFolder folder;
  const int64_t bound = 40 * 1000;
  auto store = OpenAt(folder.path(), bound);
  const std::string image(1500, 'x');
  for (int i = 0; i < 20; ++i) {
    store->Store(TestKey("k" + std::to_string(i)), image);
    // Times of use are kept to ten minutes; here they are made by hand.
    std::filesystem::last_write_time(
        FileOf(folder, "k" + std::to_string(i)),
        std::filesystem::file_time_type::clock::now() - std::chrono::hours(i == 3 ? 1 : 100 - i));
  }
  EXPECT_EQ(store->counters().evicted, 0);
  for (int i = 20; i < 30; ++i) store->Store(TestKey("k" + std::to_string(i)), image);
  EXPECT_GT(store->counters().evicted, 0);
  int64_t bytes = 0;
  for (const auto& item : std::filesystem::directory_iterator(folder.path())) {
    if (item.path().extension() == kEntrySuffix) bytes += item.file_size();
  }
  EXPECT_LE(bytes, bound + bound / 16);
  EXPECT_EQ(Load(*store, "k0"), std::nullopt);
  EXPECT_EQ(Load(*store, "k3"), image) << "used lately";
  EXPECT_EQ(Load(*store, "k29"), image);
  auto directory = Directory::Open(folder.path(), Directory::Use::kReadIfThere);
  ASSERT_TRUE(directory.ok());
  EXPECT_TRUE(EvictedKeys(**directory).contains(TestKey("k0").fingerprint.Hex()));
}

TEST(DiskStore, AnEntryBeyondTheBoundIsNotKept) {
  TestFolder folder;
  auto store = OpenAt(folder.path(), 10000);
  store->Store(TestKey("a"), std::string(20000, 'x'));
  EXPECT_EQ(Load(*store, "a"), std::nullopt);
}

TEST(DiskStore, ThreadsShareIt) {
  TestFolder folder;
  auto store = OpenAt(folder.path(), 60 * 1000);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string name = "k" + std::to_string((i * 7 + t) % 30);
        const auto image = Load(*store, name);
        if (image.has_value() && *image != "image of " + name + std::string(1000, '.')) ++wrong;
        if (!image.has_value()) {
          store->Store(TestKey(name), "image of " + name + std::string(1000, '.'));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(store->counters().damaged, 0);
}

TEST(Location, FollowsFlagsAndEnvironment) {
  Flags flags;
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(CacheDirectory(flags), "/somewhere/tektite");
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/house", 1);
  EXPECT_EQ(CacheDirectory(flags), "/house/.cache/tektite");
  unsetenv("HOME");
  EXPECT_EQ(CacheDirectory(flags), "");
  flags.cache_dir = "/named";
  EXPECT_EQ(CacheDirectory(flags), "/named");
  flags.cache_dir = "off";
  EXPECT_EQ(CacheDirectory(flags), "");
  TestFolder folder;
  flags.cache_pack = folder.path() + ":/p";
  EXPECT_EQ(PackDirectories(flags), (std::vector<std::string>{folder.path(), "/p"}));
  std::filesystem::create_directory(folder / kPackFolder);
  EXPECT_EQ(PackDirectories(flags)[0], folder / kPackFolder);
}

}  // namespace
}  // namespace tektite::cache
