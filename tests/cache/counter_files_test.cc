// Which processes' counters stay in a cache directory.
#include "jit/cache/counter_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "jit/base/process.h"
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
  ProcessId elsewhere = Dead();
  elsewhere.space = std::string(16, '0');
  const std::string unknown = Leave(2, elsewhere);
  for (int time = 3; time <= 40; ++time) Leave(time, Dead());
  NewCounterFilePath(flags_);
  const std::vector<std::string> left = Left();
  ASSERT_THAT(left, SizeIs(18));
  EXPECT_THAT(std::vector<std::string>(left.begin(), left.begin() + 2), ElementsAre(mine, unknown));
}

TEST_F(CounterFilesTest, WithoutACacheThereIsNone) {
  flags_.cache_dir = "off";
  EXPECT_EQ(NewCounterFilePath(flags_), "");
  flags_.stats_file = folder_ / "mine.stats";
  EXPECT_EQ(NewCounterFilePath(flags_), flags_.stats_file);
}

}  // namespace
}  // namespace tektite::cache
