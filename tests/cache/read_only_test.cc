// Cache directories that cannot be written to are read, and cost one failed attempt.  In processes
// of their own, since root may write anywhere and a mount is for all threads.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "jit/cache/disk_store.h"
#include "jit/cache/location.h"
#include "tests/cache/testing.h"

namespace tektite::cache {
namespace {

constexpr int kImpossibleHere = 77;

std::unique_ptr<DiskStore> OpenAt(const std::string& path) {
  DiskStoreOptions options;
  options.directory = path;
  return DiskStore::Open(options);
}

// 0, or the number of the first thing that is wrong.
int CheckServesAndIsNotWritten(const std::string& path) {
  auto store = OpenAt(path);
  if (store == nullptr) return 1;
  const auto load = [&](const std::string& name) {
    const CacheKey key = TestKey(name);
    return store->Load(key.fingerprint, [&] { return key; });
  };
  if (load("a") != "image of a") return 2;
  if (load("b") != std::nullopt) return 3;
  for (int i = 0; i < 3; ++i) store->Store(TestKey("b"), "image of b");
  if (load("b") != std::nullopt) return 4;
  store->Reject(TestKey("a").fingerprint);  // it cannot be removed, and so will be read again
  store->Flush();
  const DiskCounters counters = store->counters();
  if (counters.stores != 0 || counters.hits != 1 || counters.misses != 2) return 5;
  if (counters.store_errors > 1) return 6;  // it is tried once
  if (load("a") != "image of a") return 7;
  store.reset();
  return CountFiles(path, "") == 1 ? 0 : 8;
}

int InAProcess(const std::function<int()>& run) {
  const pid_t child = fork();
  if (child == 0) _exit(run());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  return WEXITSTATUS(status);
}

class ReadOnlyCache : public ::testing::Test {
 protected:
  ReadOnlyCache() {
    EXPECT_TRUE(OpenAt(path_) != nullptr);
    auto directory = Directory::Open(path_, Directory::Use::kReadWrite);
    const CacheKey key = TestKey("a");
    const std::string name = key.fingerprint.Hex() + kEntrySuffix;
    // As `tektite cache pack` leaves them.
    EXPECT_TRUE((*directory)->Write(name, EncodeEntry(key, "image of a", 1), 0644).ok());
    EXPECT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  }
  const TestFolder folder_;
  const std::string path_ = folder_ / "cache";
};

TEST_F(ReadOnlyCache, WithoutThePermission) {
  ASSERT_EQ(chmod(path_.c_str(), 0555), 0);
  const int failed = InAProcess([&] {
    if (geteuid() == 0 && seteuid(4242) != 0) return kImpossibleHere;
    return CheckServesAndIsNotWritten(path_);
  });
  ASSERT_EQ(chmod(path_.c_str(), 0755), 0);
  if (failed == kImpossibleHere) GTEST_SKIP() << "root may not become another user here";
  EXPECT_EQ(failed, 0);
}

TEST_F(ReadOnlyCache, OnAReadOnlyFileSystem) {
  const int failed = InAProcess([&] {
    const char* const path = path_.c_str();
    const bool mounted = unshare(CLONE_NEWNS) == 0 &&
                         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount(path, path, nullptr, MS_BIND, nullptr) == 0 &&
                         mount(path, path, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
    return mounted ? CheckServesAndIsNotWritten(path_) : kImpossibleHere;
  });
  if (failed == kImpossibleHere) GTEST_SKIP() << "only root can mount";
  EXPECT_EQ(failed, 0);
}

// Nothing can be made there, and so there is no cache; nothing else happens.
TEST_F(ReadOnlyCache, WhereThereIsNoneYet) {
  ASSERT_EQ(chmod(path_.c_str(), 0555), 0);
  const int failed = InAProcess([&] {
    if (geteuid() == 0 && seteuid(4242) != 0) return kImpossibleHere;
    return OpenAt(path_ + "/below") == nullptr ? 0 : 1;
  });
  ASSERT_EQ(chmod(path_.c_str(), 0755), 0);
  if (failed == kImpossibleHere) GTEST_SKIP() << "root may not become another user here";
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace tektite::cache
