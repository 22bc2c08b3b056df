// Counters that other processes read, whatever happens to their file.
#include "jit/base/counter_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tektite {
namespace {

class CounterFileTest : public ::testing::Test {
 protected:
  CounterFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tektite_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/x.stats";
  }
  ~CounterFileTest() override { std::filesystem::remove_all(folder_); }

  uint64_t Read() const {
    const auto seen = ReadCounterFile(path_);
    return seen.ok() && seen->counters.size() == 1 ? seen->counters[0].second : 0;
  }
  bool IsLocked() const {
    const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    const bool locked = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return locked;
  }

  std::string folder_, path_;
};

TEST_F(CounterFileTest, OthersSeeWhatIsCountedWhileItRunsAndAfter) {
  auto counters = CounterFile::Create(path_);
  ASSERT_NE(counters, nullptr);
  counters->Counter("runs")->store(7);
  EXPECT_EQ(Read(), 7);  // without Save
  EXPECT_TRUE(IsLocked());
  counters->Counter("runs")->store(8);
  counters.reset();
  EXPECT_EQ(Read(), 8);
  EXPECT_FALSE(IsLocked());
}

// The file was mapped: when any process cut it short, the next count was a SIGBUS in the host's
// process.
TEST_F(CounterFileTest, AFileThatIsCutShortKillsNeitherTheWriterNorTheReader) {
  auto counters = CounterFile::Create(path_);
  std::atomic<uint64_t>* const runs = counters->Counter("runs");
  for (const off_t bytes : {0, 1, 100, 4096}) {
    ASSERT_EQ(truncate(path_.c_str(), bytes), 0);
    runs->fetch_add(1);
    ReadCounterFile(path_).status().IgnoreError();
    counters->Save();
    EXPECT_EQ(Read(), runs->load()) << "Save writes the file anew";
  }
  unlink(path_.c_str());
  runs->fetch_add(1);
  counters->Save();
  EXPECT_TRUE(absl::IsNotFound(ReadCounterFile(path_).status()));
}

TEST_F(CounterFileTest, AProcessThatIsKilledLeavesWhatItSaved) {
  const pid_t child = fork();
  if (child == 0) {
    auto counters = CounterFile::Create(path_);
    counters->Counter("runs")->store(3);
    counters->Save();
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(Read(), 3);
  EXPECT_FALSE(IsLocked());
}

// A process that ends without destroying anything.
TEST_F(CounterFileTest, TheLastValuesAreThoseOfTheEnd) {
  const pid_t child = fork();
  if (child == 0) {
    CounterFile* const counters = CounterFile::Create(path_).release();
    counters->Counter("runs")->store(5);
    exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(Read(), 5);
}

// A limit of file sizes raises a signal that ends a process by default.
TEST_F(CounterFileTest, AFullDiskIsNoSignal) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {16, 16};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    auto counters = CounterFile::Create(path_);
    if (counters != nullptr) counters->Counter("runs")->store(1);
    counters.reset();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(CounterFileTest, WhatIsNoCounterFileIsAnError) {
  for (const std::string text : {"", "text"}) {
    FILE* const file = fopen(path_.c_str(), "w");
    fputs(text.c_str(), file);
    fclose(file);
    EXPECT_TRUE(absl::IsInvalidArgument(ReadCounterFile(path_).status()));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ReadCounterFile(folder_).status()));
}

}  // namespace
}  // namespace tektite
