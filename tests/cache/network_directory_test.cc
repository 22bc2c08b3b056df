// A directory on a network: no locks, writes that fail when they are synced, renames that fail
// after they were done or do not replace what is there, reads of what another machine has replaced.
// The system calls are stood in for here, since no test machine has such a file server.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "jit/cache/directory.h"
#include "jit/cache/disk_store.h"
#include "jit/cache/location.h"
#include "tests/cache/testing.h"

namespace tektite::cache {
namespace {

// The file server's effects on this thread's calls.
struct Server {
  int sync_error = 0;
  int syncs = 0;
  int close_error = 0;
  int rename_error = 0;
  bool rename_was_done = false;  // the answer was lost, and the request sent again
  bool replaces = true;
  int read_error = 0;  // of entries
  int locks = 0;       // that were asked for
  bool has_locks = true;
};
thread_local Server server;

int Fail(int error) {
  errno = error;
  return -1;
}

template <typename F>
F* Real(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace tektite::cache

using tektite::cache::Fail;
using tektite::cache::Real;
using tektite::cache::server;

extern "C" {

int fsync(int fd) {
  static auto* const real = Real<int(int)>("fsync");
  ++server.syncs;
  return server.sync_error != 0 ? Fail(server.sync_error) : real(fd);
}

int close(int fd) {
  static auto* const real = Real<int(int)>("close");
  const int result = real(fd);
  return server.close_error != 0 ? Fail(server.close_error) : result;
}

int renameat(int from_fd, const char* from, int to_fd, const char* to) {
  static auto* const real = Real<int(int, const char*, int, const char*)>("renameat");
  if (!server.replaces && faccessat(to_fd, to, F_OK, 0) == 0) return Fail(EEXIST);
  if (server.rename_error == 0) return real(from_fd, from, to_fd, to);
  if (server.rename_was_done) real(from_fd, from, to_fd, to);
  return Fail(server.rename_error);
}

int openat(int fd, const char* name, int flags, ...) {
  static auto* const real = Real<int(int, const char*, int, ...)>("openat");
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  const bool entry = absl::EndsWith(name, tektite::cache::kEntrySuffix);
  if (server.read_error != 0 && entry && (flags & O_ACCMODE) == O_RDONLY) {
    return Fail(server.read_error);
  }
  return real(fd, name, flags, mode);
}

int flock(int fd, int operation) {
  static auto* const real = Real<int(int, int)>("flock");
  ++server.locks;
  return server.has_locks ? real(fd, operation) : Fail(ENOLCK);
}

int lockf(int, int, off_t) {
  ++server.locks;
  return Fail(ENOLCK);
}

}  // extern "C"

namespace tektite::cache {
namespace {

class NetworkDirectory : public ::testing::Test {
 protected:
  NetworkDirectory() {
    server = {};
    options_.directory = folder_ / "cache";
  }
  ~NetworkDirectory() override { server = {}; }

  std::optional<std::string> Load(DiskStore& store, const std::string& name) {
    const CacheKey key = TestKey(name);
    return store.Load(key.fingerprint, [&] { return key; });
  }
  int64_t Temporary() const { return CountFiles(options_.directory, "tmp."); }

  const TestFolder folder_;
  DiskStoreOptions options_;
};

TEST_F(NetworkDirectory, NoLockIsAskedFor) {
  auto store = DiskStore::Open(options_);
  store->Store(TestKey("a"), "image of a");
  EXPECT_EQ(Load(*store, "a"), "image of a");
  EXPECT_EQ(Load(*store, "b"), std::nullopt);
  store->Flush();
  EXPECT_EQ(server.locks, 0);
}

// A full or failing server says so when the bytes are synced, which is before any reader sees them.
TEST_F(NetworkDirectory, WhatCouldNotBeSyncedIsNotThere) {
  auto store = DiskStore::Open(options_);
  for (int error : {EIO, ENOSPC, EDQUOT}) {
    server.sync_error = error;
    store->Store(TestKey("a"), "image of a");
    EXPECT_EQ(Load(*store, "a"), std::nullopt) << error;
    EXPECT_EQ(Temporary(), 0) << error;
  }
  EXPECT_EQ(store->counters().store_errors, 3);
  server.sync_error = 0;
  store->Store(TestKey("a"), "image of a");
  EXPECT_EQ(Load(*store, "a"), "image of a");
}

// Compiling a training step waited for a sync after each of its kernels, a quarter of the time.  A
// server that has not taken the bytes says so when the file is closed.
TEST_F(NetworkDirectory, WithoutASyncTheCloseTells) {
  auto store = DiskStore::Open(options_);
  server.close_error = EDQUOT;
  store->Store(TestKey("a"), "image of a", Directory::Sync::kNo);
  server.close_error = 0;
  EXPECT_EQ(Load(*store, "a"), std::nullopt);
  EXPECT_EQ(Temporary(), 0);
  EXPECT_EQ(store->counters().store_errors, 1);
  store->Store(TestKey("a"), "image of a", Directory::Sync::kNo);
  EXPECT_EQ(Load(*store, "a"), "image of a");
  EXPECT_EQ(server.syncs, 0);
}

TEST_F(NetworkDirectory, ARenameThatFailsLeavesNothingBehind) {
  auto store = DiskStore::Open(options_);
  for (int error : {EIO, ESTALE, EXDEV, EBUSY}) {
    server.rename_error = error;
    store->Store(TestKey("a"), "image of a");
    EXPECT_EQ(Load(*store, "a"), std::nullopt) << error;
    EXPECT_EQ(Temporary(), 0) << error;
  }
  EXPECT_EQ(store->counters().store_errors, 4);
}

// A request whose answer got lost is sent again, and fails since it has been done.
TEST_F(NetworkDirectory, ARenameThatWasDoneAllTheSameServes) {
  auto store = DiskStore::Open(options_);
  server.rename_error = ENOENT;
  server.rename_was_done = true;
  store->Store(TestKey("a"), "image of a");
  EXPECT_EQ(Load(*store, "a"), "image of a");
  EXPECT_EQ(Temporary(), 0);
}

// The second writer leaves the first one's entry, which is as good.
TEST_F(NetworkDirectory, ARenameThatReplacesNothing) {
  auto store = DiskStore::Open(options_);
  store->Store(TestKey("a"), "image of a");
  server.replaces = false;
  store->Store(TestKey("a"), "image of a");
  store->Store(TestKey("b"), "image of b");
  EXPECT_EQ(Load(*store, "a"), "image of a");
  EXPECT_EQ(Load(*store, "b"), "image of b");
  EXPECT_EQ(store->counters().store_errors, 1);
  EXPECT_EQ(Temporary(), 0);
}

// Another machine has replaced or removed the file between two requests.
TEST_F(NetworkDirectory, WhatCannotBeReadIsAMissAndStays) {
  auto store = DiskStore::Open(options_);
  store->Store(TestKey("a"), "image of a");
  for (int error : {ESTALE, EIO, ETIMEDOUT}) {
    server.read_error = error;
    EXPECT_EQ(Load(*store, "a"), std::nullopt) << error;
  }
  EXPECT_EQ(store->counters().misses, 3);
  EXPECT_EQ(store->counters().damaged, 0);
  server.read_error = 0;
  EXPECT_EQ(Load(*store, "a"), "image of a");
  const std::string file = folder_ / ("cache/" + TestKey("a").fingerprint.Hex() + kEntrySuffix);
  EXPECT_TRUE(std::filesystem::exists(file));
}

// Clients keep a file that is removed while it is open under such a name.
TEST_F(NetworkDirectory, FilesOfTheClientItselfAreLeftAlone) {
  auto store = DiskStore::Open(options_);
  store->Store(TestKey("a"), "image of a");
  std::FILE* const file = std::fopen((folder_ / "cache/.nfs00000001").c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fclose(file);
  store->Store(TestKey("b"), "image of b");
  store->Flush();
  EXPECT_EQ(Load(*store, "a"), "image of a");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "cache/.nfs00000001"));
}

TEST_F(NetworkDirectory, WithoutLocksAFileGoesByItsAge) {
  TestFolder folder;
  auto directory = Directory::Open(folder / "cache", Directory::Use::kReadWrite);
  ASSERT_TRUE((*directory)->Write("a", "text").ok());
  server.has_locks = false;
  EXPECT_FALSE((*directory)->RemoveUnlessLocked("a"));
  const timespec old[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (folder / "cache/a").c_str(), old, 0), 0);
  EXPECT_TRUE((*directory)->RemoveUnlessLocked("a"));
  server = {};
}

}  // namespace
}  // namespace tektite::cache
