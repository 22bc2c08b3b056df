// Which processes' counters stay in a cache directory.
#include "jit/cache/counter_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "jit/base/process.h"
#include "jit/cache/evict.h"
#include "tests/cache/testing.h"

namespace tektite::cache {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class CounterFilesTest : public ::testing::Test {
 protected:
  CounterFilesTest() {
    flags_.cache_dir = folder_ / "cache";
    mkdir(flags_.cache_dir.c_str(), 0700);
    mkdir(run_.c_str(), 0700);
  }

  // One that process `id` left at a time of its own.
  std::string Leave(int time, const ProcessId& id) {
    const std::string name =
        absl::StrCat(run_, "/", absl::StrFormat("%020d", time), "-", id.ToString(), ".stats");
    std::ofstream(name) << "counters";
    return name;
  }

  std::vector<std::string> Left() const {
    std::vector<std::string> names;
    for (const auto& item : std::filesystem::directory_iterator(run_)) {
      names.push_back(item.path().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // Lived in this space, when no process did.
  static ProcessId Dead() {
    ProcessId id = CurrentProcess();
    id.start = 1;
    return id;
  }

  // In another container, or before the machine was started again.
  static ProcessId Elsewhere() {
    ProcessId id = Dead();
    id.space = std::string(16, '0');
    return id;
  }

  TestFolder folder_;
  Flags flags_;
  const std::string run_ = folder_ / "cache/run";
};

TEST_F(CounterFilesTest, ANewFileHasANameOfItsOwnAndIsFoundByItsProcess) {
  const std::string first = NewCounterFilePath(flags_), second = NewCounterFilePath(flags_);
  EXPECT_NE(first, second);
  EXPECT_TRUE(absl::StartsWith(first, run_));
  std::ofstream(first) << "counters";
  const auto found = FindCounterFile(flags_, absl::StrCat(CurrentProcess().pid));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, first);
}

TEST_F(CounterFilesTest, TheNewestOfTheDeadStay) {
  for (int time = 1; time <= 40; ++time) Leave(time, Dead());
  NewCounterFilePath(flags_);
  const std::vector<std::string> left = Left();
  ASSERT_THAT(left, SizeIs(16));
  EXPECT_TRUE(absl::StrContains(left.front(), absl::StrFormat("%020d-", 25)));
}

TEST_F(CounterFilesTest, WhoLivesKeepsItsFileHoweverOldItIs) {
  const std::string mine = Leave(1, CurrentProcess());
  const std::string unknown = Leave(2, Elsewhere());
  // As the process of another container locks its own file, through CounterFile.
  const int locked = open(unknown.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(locked, LOCK_EX | LOCK_NB), 0);
  for (int time = 3; time <= 40; ++time) Leave(time, Dead());
  NewCounterFilePath(flags_);
  const std::vector<std::string> left = Left();
  ASSERT_THAT(left, SizeIs(18));
  EXPECT_THAT(std::vector<std::string>(left.begin(), left.begin() + 2), ElementsAre(mine, unknown));
  close(locked);
}

// They were left alone for ever, since their processes' numbers mean nothing here.
TEST_F(CounterFilesTest, FilesOfOtherBootsAndContainersGoToo) {
  for (int time = 1; time <= 200; ++time) Leave(time, Elsewhere());
  NewCounterFilePath(flags_);
  EXPECT_THAT(Left(), SizeIs(16));
}

// They took room beyond --cache_mb.
TEST_F(CounterFilesTest, TheyCountInTheBoundAndGoBeforeEntriesDo) {
  auto directory = Directory::Open(flags_.cache_dir, Directory::Use::kReadWrite);
  ASSERT_TRUE(directory.ok());
  const std::string text(1000, 'x');
  ASSERT_TRUE((*directory)->Write("a.entry", text).ok());
  const std::string mine = Leave(1, CurrentProcess());
  const int64_t own = std::filesystem::file_size(mine);
  for (int time = 2; time <= 50; ++time) Leave(time, time % 2 == 0 ? Dead() : Elsewhere());
  Evicted evicted = EvictTo(**directory, 10'000);
  EXPECT_EQ(evicted.counter_bytes, 50 * own);
  EXPECT_THAT(Left(), SizeIs(50));
  evicted = EvictTo(**directory, 1000 + own);
  EXPECT_EQ(evicted.entries, 0);
  EXPECT_EQ(evicted.counter_bytes, own);
  EXPECT_THAT(Left(), ElementsAre(mine));
  evicted = EvictTo(**directory, 1000);
  EXPECT_EQ(evicted.entries, 1);
}

TEST_F(CounterFilesTest, WithoutACacheThereIsNone) {
  flags_.cache_dir = "off";
  EXPECT_EQ(NewCounterFilePath(flags_), "");
  flags_.stats_file = folder_ / "mine.stats";
  EXPECT_EQ(NewCounterFilePath(flags_), flags_.stats_file);
}

}  // namespace
}  // namespace tektite::cache
