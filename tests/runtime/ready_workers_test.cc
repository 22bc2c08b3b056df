// Handing work to threads that spin; run under TSan by scripts/test --tsan.
#include "jit/runtime/threads/ready_workers.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "jit/base/timing.h"
#include "tests/runtime/crowd_of_threads.h"

namespace tektite::runtime {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

void CallsWithPauses(int count, std::chrono::microseconds pause) {
  for (int i = 0; i < count; ++i) {
    ReadyWorkers::Get().CallBegins();
    ReadyWorkers::Get().CallEnds();
    std::this_thread::sleep_for(pause);
  }
}

// Threads that wait again and again, and keep what they are given.
class Waiters {
 public:
  explicit Waiters(int threads) {
    for (int t = 0; t < threads; ++t) {
      threads_.emplace_back([this] {
        while (!stop_) {
          if (void* work = ReadyWorkers::Get().Wait(kSecond, kNever)) {
            static_cast<std::atomic<int>*>(work)->fetch_add(1);
          }
        }
      });
    }
  }
  ~Waiters() {
    stop_ = true;
    for (std::thread& t : threads_) t.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

TEST(ReadyWorkers, NobodyWaits) {
  int work = 0;
  EXPECT_FALSE(ReadyWorkers::Get().Give(&work));
}

TEST(ReadyWorkers, WhatIsGivenIsDoneOnce) {
  CallsWithPauses(100, std::chrono::microseconds(0));
  std::vector<std::atomic<int>> works(100);
  {
    Waiters waiters(2);
    for (std::atomic<int>& work : works) {
      while (!ReadyWorkers::Get().Give(&work)) std::this_thread::yield();
    }
  }
  for (const std::atomic<int>& work : works) EXPECT_EQ(work, 1);
}

TEST(ReadyWorkers, NobodyWaitsWhereCallsAreRare) {
  CallsWithPauses(30, std::chrono::milliseconds(2));
  EXPECT_EQ(ReadyWorkers::Get().Wait(500'000, kNever), nullptr);
  int work = 0;
  EXPECT_FALSE(ReadyWorkers::Get().Give(&work));
}

TEST(ReadyWorkers, NobodyWaitsWhereItIsNotAllowed) {
  CallsWithPauses(100, std::chrono::microseconds(0));
  EXPECT_EQ(ReadyWorkers::Get().Wait(0, kNever), nullptr);
}

// Calls may follow each other for ever; the host wants its thread back all the same.
TEST(ReadyWorkers, NobodyWaitsPastTheLatestTime) {
  CallsWithPauses(100, std::chrono::microseconds(0));
  std::atomic<bool> stop{false};
  std::atomic<int> work{0};
  std::thread caller([&] {
    while (!stop) {
      CallsWithPauses(1, std::chrono::microseconds(0));
      ReadyWorkers::Get().Give(&work);
    }
  });
  EXPECT_EQ(ReadyWorkers::Get().Wait(kSecond, Nanoseconds() - 1), nullptr);
  const int64_t latest = Nanoseconds() + 1'000'000;
  while (ReadyWorkers::Get().Wait(kSecond, latest) != nullptr) {
  }
  EXPECT_GE(Nanoseconds(), latest - 1'000'000);
  stop = true;
  caller.join();
}

TEST(ReadyWorkers, WhetherAskingPaysIsMeasured) {
  ReadyWorkers& workers = ReadyWorkers::Get();
  CallsWithPauses(30, std::chrono::milliseconds(2));  // none would wait for the next call
  for (int i = 0; i < 50; ++i) workers.Arrived(200'000);
  EXPECT_TRUE(workers.PaysToAsk(1e6, 300'000));
  EXPECT_FALSE(workers.PaysToAsk(50e3, 300'000));
  // Not for ever: it may come sooner now.
  int refusals = 0;
  while (!workers.PaysToAsk(50e3, 300'000)) ASSERT_LT(++refusals, 1000);
  EXPECT_GT(refusals, 10);
  for (int i = 0; i < 50; ++i) workers.Arrived(5'000);
  EXPECT_TRUE(workers.PaysToAsk(50e3, 300'000));
  for (int i = 0; i < 50; ++i) workers.Arrived(200'000);
  CallsWithPauses(100, std::chrono::microseconds(0));
  EXPECT_TRUE(workers.PaysToAsk(50e3, 300'000));
}

// A caller that had learned that they come late asked for none, and ran alone with its share of one
// core.
TEST(ReadyWorkers, InACrowdLateWorkersAreAskedFor) {
  ReadyWorkers& workers = ReadyWorkers::Get();
  CallsWithPauses(30, std::chrono::milliseconds(2));
  {
    const CrowdOfThreads crowd;
    for (int i = 0; i < 50; ++i) workers.Arrived(10'000'000);
    EXPECT_TRUE(workers.PaysToAsk(1e6, 300'000));
  }
  for (int i = 0; i < 50; ++i) workers.Arrived(5'000);
}

// Workers that come at once may stay longer the next time; one that something has kept ends that.
TEST(ReadyWorkers, PromptArrivalsInARowAreCounted) {
  ReadyWorkers& workers = ReadyWorkers::Get();
  workers.Arrived(10'000'000);
  EXPECT_EQ(workers.prompt_arrivals(), 0);
  for (int i = 1; i <= 3; ++i) {
    workers.Arrived(5'000);
    EXPECT_EQ(workers.prompt_arrivals(), i);
  }
  for (int i = 0; i < 100; ++i) workers.Arrived(5'000);
  EXPECT_EQ(workers.prompt_arrivals(), ReadyWorkers::kMostPrompt);
  workers.Arrived(1'000'000);
  EXPECT_EQ(workers.prompt_arrivals(), 0);
}

TEST(ReadyWorkers, AForkedChildHasNone) {
  CallsWithPauses(100, std::chrono::microseconds(0));
  Waiters waiters(2);
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> work{0};
    while (!ReadyWorkers::Get().Give(&work)) std::this_thread::yield();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(ReadyWorkers::Get().Give(&work) ? 1 : 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    while (work == 0) std::this_thread::yield();
  }
}

}  // namespace
}  // namespace tektite::runtime
