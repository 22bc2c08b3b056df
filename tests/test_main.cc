// The main function of every GoogleTest program: a test may be skipped for the reasons listed here
// alone, and only where the reason holds.  Any other skip makes the program fail, since a test that
// is skipped unnoticed tests nothing.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tektite {
namespace {

bool IsRoot() { return geteuid() == 0; }
bool IsUser() { return !IsRoot(); }
bool Always() { return true; }
bool HasNoGdb() { return std::system("gdb --version > /dev/null 2>&1") != 0; }
bool HasNoPtxas() { return std::system("ptxas --version > /dev/null 2>&1") != 0; }

bool HasSanitizer() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

struct Reason {
  const char* text;  // part of what GTEST_SKIP says
  bool (*may_hold)();
};
constexpr Reason kReasons[] = {
    // A container may lack the capabilities for either.
    {"root may not become another user here", &IsRoot},
    {"only root can mount", &Always},
    {"only root can give files away", &IsUser},
    {"the sanitizer's heap keeps what is freed", &HasSanitizer},
    {"the sanitizer keeps freed memory", &HasSanitizer},
    {"what LLVM holds when it gives up is never freed", &HasSanitizer},
    {"under the thread sanitizer", &HasSanitizer},
    {"no gdb", &HasNoGdb},
    {"no ptxas", &HasNoPtxas},
    // A build without NVIDIA's package.
    {"no PTX compiler library", &Always},
    // A build against static abseil.
    {"abseil is not in libraries of its own", &Always},
};

bool IsExpected(const std::string& message) {
  for (const Reason& reason : kReasons) {
    if (message.find(reason.text) != std::string::npos) return reason.may_hold();
  }
  return false;
}

class SkipWatch : public testing::EmptyTestEventListener {
 public:
  int unexpected() const { return unexpected_; }

 private:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.skipped() || IsExpected(result.message())) return;
    ++unexpected_;
    std::fprintf(stderr, "unexpected skip, which tests/test_main.cc does not list: %s\n",
                 result.message());
  }
  int unexpected_ = 0;
};

// With TEKTITE_TEST_SHARDS=7 and TEKTITE_TEST_SHARD=2 only every seventh test runs, from the third
// on, each for all of its parameters: they can share what is expensive, and GoogleTest's own shards
// would part them.
void KeepShard() {
  const char *const shards = std::getenv("TEKTITE_TEST_SHARDS"), *const shard = std::getenv(
                                                                     "TEKTITE_TEST_SHARD");
  if (shards == nullptr || shard == nullptr || GTEST_FLAG_GET(filter) != "*") return;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  std::set<std::string> seen;
  std::string filter;
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string test = suite.GetTestInfo(t)->name();
      const std::string name = suite.name() + ("." + test.substr(0, test.find('/')));
      const auto number = static_cast<int>(seen.size());
      if (!seen.insert(name).second || number % std::atoi(shards) != std::atoi(shard)) continue;
      filter += name + ":" + name + "/*:";
    }
  }
  GTEST_FLAG_SET(filter, filter);
}

}  // namespace
}  // namespace tektite

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  tektite::KeepShard();
  auto* watch = new tektite::SkipWatch;  // GoogleTest owns it
  testing::UnitTest::GetInstance()->listeners().Append(watch);
  const int code = RUN_ALL_TESTS();
  return watch->unexpected() > 0 ? 1 : code;
}
