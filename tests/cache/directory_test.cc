// Files in a shared directory: whole or absent, ours or refused.
#include "jit/cache/directory.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "jit/base/process.h"
#include "tests/cache/testing.h"

namespace tektite::cache {
namespace {

using Use = Directory::Use;
using ReadResult = Directory::ReadResult;

std::unique_ptr<Directory> OpenNew(const std::string& path) {
  auto directory = Directory::Open(path, Use::kReadWrite);
  EXPECT_TRUE(directory.ok()) << directory.status();
  return *std::move(directory);
}

TEST(Directory, IsMadeForItsOwnerAlone) {
  TestFolder folder;
  umask(0);
  auto directory = OpenNew(folder / "above/cache");
  umask(022);
  struct stat info;
  ASSERT_EQ(stat((folder / "above/cache").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_TRUE(directory->Write("a", "text").ok());
  ASSERT_EQ(stat((folder / "above/cache/a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  std::string bytes;
  EXPECT_EQ(directory->Read("a", &bytes), ReadResult::kOk);
  EXPECT_EQ(bytes, "text");
  EXPECT_EQ(directory->Read("b", &bytes), ReadResult::kAbsent);
  EXPECT_EQ(CountFiles(folder / "above/cache", "tmp."), 0);
}

TEST(Directory, SymbolicLinksAreRefused) {
  TestFolder folder;
  OpenNew(folder / "real")->Write("secret", "x").IgnoreError();
  std::filesystem::create_directory_symlink(folder / "real", folder / "link");
  auto linked = Directory::Open(folder / "link", Use::kReadWrite);
  EXPECT_TRUE(absl::IsFailedPrecondition(linked.status())) << linked.status();

  auto directory = OpenNew(folder / "cache");
  std::filesystem::create_symlink(folder / "real/secret", folder / "cache/entry");
  std::string bytes;
  EXPECT_EQ(directory->Read("entry", &bytes), ReadResult::kRefused);
  // Writing replaces the link and never follows it.
  ASSERT_TRUE(directory->Write("entry", "y").ok());
  EXPECT_EQ(OpenNew(folder / "real")->Read("secret", &bytes), ReadResult::kOk);
  EXPECT_EQ(bytes, "x");
}

TEST(Directory, WhatOthersMayWriteIsRefused) {
  TestFolder folder;
  auto directory = OpenNew(folder / "cache");
  ASSERT_TRUE(directory->Write("a", "text").ok());
  chmod((folder / "cache/a").c_str(), 0666);
  std::string bytes;
  EXPECT_EQ(directory->Read("a", &bytes), ReadResult::kRefused);
  chmod((folder / "cache").c_str(), 0770);
  EXPECT_TRUE(
      absl::IsFailedPrecondition(Directory::Open(folder / "cache", Use::kReadWrite).status()));
}

TEST(Directory, AnotherOwnerIsRefusedButForPacks) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  TestFolder folder;
  auto directory = OpenNew(folder / "cache");
  ASSERT_TRUE(directory->Write("a", "text", 0644).ok());
  ASSERT_EQ(chown((folder / "cache/a").c_str(), 4242, 4242), 0);
  std::string bytes;
  EXPECT_EQ(directory->Read("a", &bytes), ReadResult::kRefused);
  ASSERT_EQ(chown((folder / "cache").c_str(), 4242, 4242), 0);
  EXPECT_TRUE(
      absl::IsFailedPrecondition(Directory::Open(folder / "cache", Use::kReadWrite).status()));
  auto pack = Directory::Open(folder / "cache", Use::kReadOthers);
  ASSERT_TRUE(pack.ok()) << pack.status();
  EXPECT_EQ((*pack)->Read("a", &bytes), ReadResult::kOk);
}

TEST(Directory, PlainFilesOnly) {
  TestFolder folder;
  auto directory = OpenNew(folder / "cache");
  ASSERT_EQ(mkfifo((folder / "cache/pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(folder / "cache/folder");
  std::string bytes;
  EXPECT_EQ(directory->Read("pipe", &bytes), ReadResult::kRefused);  // and does not wait for it
  EXPECT_EQ(directory->Read("folder", &bytes), ReadResult::kRefused);
}

// A process that runs into a limit of its file sizes gets a signal that ends it by default.
TEST(Directory, AFullDiskIsAnErrorAndNoSignal) {
  TestFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    auto directory = Directory::Open(folder / "cache", Use::kReadWrite);
    const rlimit limit = {4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    const absl::Status status = (*directory)->Write("big", std::string(100000, 'x'));
    if (!absl::IsResourceExhausted(status)) _exit(3);
    if (!(*directory)->Write("small", "x").ok()) _exit(4);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(CountFiles(folder / "cache", ""), 1) << "the temporary file is gone";
}

TEST(Directory, DeadProcessesAreSweptAfter) {
  TestFolder folder;
  auto directory = OpenNew(folder / "cache");
  const ProcessId self = CurrentProcess();
  ProcessId dead = self, reused = self;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  dead.pid = child;
  reused.start += 1;  // another process had this number once
  ProcessId elsewhere = self;
  elsewhere.space = "0123456789abcdef";
  auto leave = [&](const ProcessId& id) {
    std::ofstream(folder / absl::StrCat("cache/tmp.", id.ToString(), ".0")) << "x";
  };
  for (const ProcessId& id : {self, dead, reused, elsewhere}) leave(id);
  ASSERT_TRUE(directory->Write("kept", "x").ok());
  EXPECT_EQ(directory->Sweep(), 2);
  EXPECT_EQ(CountFiles(folder / "cache", "tmp."), 2);
  // Nothing is known about a process elsewhere, but it does not write for hours.
  const auto name = folder / absl::StrCat("cache/tmp.", elsewhere.ToString(), ".0");
  std::filesystem::last_write_time(
      name, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_EQ(directory->Sweep(), 1);
  EXPECT_EQ(CountFiles(folder / "cache", "kept"), 1);
}

TEST(Process, KnowsItself) {
  const ProcessId self = CurrentProcess();
  EXPECT_EQ(self.pid, getpid());
  EXPECT_GT(self.start, 0);
  EXPECT_FALSE(IsDead(self));
  ProcessId read;
  ASSERT_TRUE(ProcessId::Parse(self.ToString(), &read));
  EXPECT_EQ(read.ToString(), self.ToString());
  EXPECT_FALSE(ProcessId::Parse("", &read));
  EXPECT_FALSE(ProcessId::Parse("0123456789abcdef.x.1", &read));
}

// Reading about a process while it goes away fails in the middle; an exception ended the host once.
TEST(Process, MayEndWhileOneLooks) {
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    ProcessId id = CurrentProcess();
    id.pid = child;
    std::atomic<bool> gone{false};
    std::thread reaper([&] {
      waitpid(child, nullptr, 0);
      gone = true;
    });
    while (!gone) IsDead(id);
    reaper.join();
    EXPECT_TRUE(IsDead(id));
  }
}

}  // namespace
}  // namespace tektite::cache
