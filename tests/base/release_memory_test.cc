#include "jit/base/release_memory.h"

#include <time.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tektite {
namespace {

int64_t Kilobytes(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    int64_t value = 0;
    if (word == name + ":" && file >> value) return value;
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

// Blocks that are kept lie between those that are freed: the heap does not shrink by itself.
struct Blocks {
  Blocks() {
    constexpr size_t kBlock = 64 << 10;
    for (int i = 0; i < 1000; ++i) {
      blocks.push_back(std::make_unique<char[]>(kBlock));
      std::memset(blocks.back().get(), 1, kBlock);
    }
  }
  void FreeMost() {
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (i % 10 != 0) blocks[i] = nullptr;
    }
  }
  std::vector<std::unique_ptr<char[]>> blocks;
};

TEST(ReleaseMemory, GivesBackTheHeapsFreePages) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's heap keeps what is freed";
#endif
  Blocks blocks;
  blocks.FreeMost();
  const int64_t before = Kilobytes("RssAnon");
  ReleaseFreeMemory();
  EXPECT_LT(Kilobytes("RssAnon"), before - 20000);
}

// Milliseconds of processor time that this thread has had.
int64_t ThreadMilliseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// Longer than lies between two walks of a small heap.
void WorkAWhile() {
  const int64_t end = ThreadMilliseconds() + 300;
  while (ThreadMilliseconds() < end) {
  }
}

// Between kernels it must not cost what compiling one does.  The clock is the thread's own: where
// the machine is busy and a thread mostly waits, walks of the heap were a sixth of its work.
TEST(ReleaseMemory, AtTimesIsNotAlways) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's heap keeps what is freed";
#endif
  Blocks blocks;
  const int64_t before = Kilobytes("RssAnon");
  WorkAWhile();
  ReleaseFreeMemoryAtTimes();
  blocks.FreeMost();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ReleaseFreeMemoryAtTimes();
  EXPECT_GT(Kilobytes("RssAnon"), before - 20000);
  WorkAWhile();
  ReleaseFreeMemoryAtTimes();
  EXPECT_LT(Kilobytes("RssAnon"), before - 20000);
}

}  // namespace
}  // namespace tektite
