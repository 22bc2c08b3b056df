// Teams: every chunk runs exactly once, whichever workers come and whenever; `scripts/test --tsan`
// runs this under TSan.
#include "jit/runtime/threads/thread_team.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "gtest/gtest.h"
#include "jit/runtime/threads/ready_workers.h"
#include "jit/runtime/threads/team_state.h"
#include "tests/runtime/fake_kernels.h"
#include "tests/runtime/test_pool.h"

namespace tektite::runtime {
namespace {

// A call of `kernels` kernels that depend on each other: each adds 1 to every element it sees.
void RunCall(const HostPool& pool, int kernels, int64_t chunks, CallTimes* times = nullptr) {
  std::vector<int> counts(chunks, 0);
  FakeKernel kernel(
      [](const backend::KernelFrame& frame, int64_t chunk) {
        auto* mine = static_cast<int64_t*>(frame.scratch);
        mine[0] = chunk;  // a worker that shared its scratch would be caught here
        static_cast<int*>(frame.buffers[0])[chunk] += 1;
        ASSERT_EQ(mine[0], chunk);
      },
      chunks, /*cost_ns=*/50e3, false, /*scratch=*/64);
  FakeKernel check(
      [&](const backend::KernelFrame& frame, int64_t) {
        const int* seen = static_cast<int*>(frame.buffers[0]);
        for (int64_t c = 1; c < chunks; ++c) ASSERT_EQ(seen[c], seen[0]);
      },
      1, 0);
  alignas(64) char scratch[64];
  void* buffers[] = {counts.data()};
  {
    ThreadTeam team(pool, 1e6, 64, scratch, times);
    for (int k = 0; k < kernels; ++k) {
      team.Run(kernel, kernel.Configure({}), buffers, nullptr);
      team.Run(check, check.Configure({}), buffers, nullptr);
    }
  }
  for (int64_t c = 0; c < chunks; ++c) ASSERT_EQ(counts[c], kernels);
}

TEST(ThreadTeam, EveryChunkOnce) {
  Pool pool(3);
  for (int i = 0; i < 200; ++i) RunCall(pool.Host(), 10, 1 + i);
}

TEST(ThreadTeam, LateWorkersTouchNothing) {
  Pool pool(2, std::chrono::microseconds(300));
  for (int i = 0; i < 200; ++i) RunCall(pool.Host(), 3, 40);
}

TEST(ThreadTeam, WithoutAPoolTheCallerDoesItAll) {
  RunCall({}, 5, 100);
  Pool none(0);
  RunCall(none.Host(), 5, 100);
}

TEST(ThreadTeam, AKernelThatFollowsItselfBeginsWhereItEnded) {
  std::vector<int64_t> order;
  const auto note = [&](const backend::KernelFrame&, int64_t chunk) { order.push_back(chunk); };
  FakeKernel step(note, 3, 10e3), between(note, 1, 1e3), other(note, 2, 10e3);
  ThreadTeam team(HostPool{}, 100e3, 0, nullptr);
  for (const FakeKernel* kernel : {&step, &between, &step, &step, &other, &step}) {
    team.Run(*kernel, kernel->Configure({}), nullptr, nullptr);
  }
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 0, 2, 1, 0, 0, 1, 2, 0, 1, 0, 1, 2}));
}

TEST(ThreadTeam, AWorkerThatNeverComesIsNotWaitedFor) {
  std::vector<std::pair<void (*)(void*), void*>> kept;
  HostPool pool{4, &kept, [](void* self, void (*fn)(void*), void* arg) {
                  static_cast<decltype(kept)*>(self)->emplace_back(fn, arg);
                }};
  {
    CallTimes times;
    RunCall(pool, 5, 100, &times);
    EXPECT_EQ(times.calls, 1);
    EXPECT_EQ(times.unhelped, 1);
    EXPECT_EQ(times.helping, 0);
    EXPECT_EQ(times.absent, times.team);
    EXPECT_GT(times.alone, 0);
    EXPECT_LE(times.shared + times.alone, times.team);
  }
  for (auto& [fn, arg] : kept) fn(arg);  // long after the call, and after its times
}

// As one that the system has put on the caller's own core.
TEST(ThreadTeam, WhereAWorkerIsLateAnotherIsAskedFor) {
  struct Host {
    Pool pool{1};
    std::vector<std::pair<void (*)(void*), void*>> kept;
  } host;
  HostPool pool{1, &host, [](void* self, void (*fn)(void*), void* arg) {
                  auto* const host = static_cast<Host*>(self);
                  if (host->kept.empty()) {
                    host->kept.emplace_back(fn, arg);
                  } else {
                    host->pool.Add([fn, arg] { fn(arg); });
                  }
                }};
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> helped{false};
  FakeKernel kernel(
      [&](const backend::KernelFrame&, int64_t) {
        if (std::this_thread::get_id() != caller) helped = true;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      },
      /*chunks=*/64, /*cost_ns=*/64e5);
  {
    ThreadTeam team(pool, /*cost_ns=*/1e9, 0, nullptr);
    while (!helped) team.Run(kernel, kernel.Configure({}), nullptr, nullptr);
    ASSERT_EQ(host.kept.size(), 1u);
    host.kept[0].first(host.kept[0].second);  // one too many now: it leaves at once
  }
}

// A thread reads in one kernel the rows that it wrote in the kernel before; only chunks that other
// threads leave change hands.
TEST(ThreadTeam, ThreadsKeepToTheirPartsOfTheChunks) {
  constexpr int64_t kChunks = 32;
  Pool pool(1);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int64_t> workers_first{-1};
  FakeKernel kernel(
      [&](const backend::KernelFrame&, int64_t chunk) {
        int64_t none = -1;
        if (std::this_thread::get_id() != caller)
          workers_first.compare_exchange_strong(none, chunk);
        // The caller waits in whatever it does first.
        while (workers_first == -1) std::this_thread::yield();
      },
      kChunks, /*cost_ns=*/kChunks * 1e4);
  ThreadTeam team(pool.Host(), /*cost_ns=*/1e9, 0, nullptr);  // worth asking for help in any case
  team.Run(kernel, kernel.Configure({}), nullptr, nullptr);
  EXPECT_EQ(workers_first, kChunks / 2);
}

TEST(ThreadTeam, TimesOfACallThatWasHelped) {
  Pool pool(1);
  CallTimes times;
  while (times.helping == 0) RunCall(pool.Host(), 50, 64, &times);
  EXPECT_LT(times.unhelped, times.calls);
  EXPECT_LE(times.absent, times.team);
  EXPECT_LE(times.waiting, times.shared);
}

// Eigen's pool runs a task at once on the scheduling thread when its queue is full.
TEST(ThreadTeam, APoolThatRunsTasksAtOnceDoesNotHang) {
  HostPool pool{4, nullptr, [](void*, void (*fn)(void*), void* arg) { fn(arg); }};
  RunCall(pool, 5, 100);
}

TEST(ThreadTeam, AWorkerThatSpinsIsNotWokenForTheNextCall) {
  struct Counting {
    HostPool pool;
    std::atomic<int> scheduled{0};
  };
  Pool threads(1);
  Counting counting{threads.Host()};
  HostPool pool{1, &counting, [](void* self, void (*fn)(void*), void* arg) {
                  auto* const counting = static_cast<Counting*>(self);
                  counting->scheduled.fetch_add(1);
                  counting->pool.schedule(counting->pool.context, fn, arg);
                }};
  for (int i = 0; i < 2000; ++i) RunCall(pool, 2, 40);
  EXPECT_GT(counting.scheduled, 0);
  pool.spin_ns = 1'000'000;
  // Where the machine is busy, a worker may lose its core while it spins, again and again.
  bool was_woken = true;
  for (int calls = 0; was_woken && calls < 200'000; ++calls) {
    counting.scheduled = 0;
    RunCall(pool, 2, 40);
    was_woken = counting.scheduled > 0;
  }
  EXPECT_FALSE(was_woken);
}

// The host's closures, one after the other: each is added when the one before has run.
class Closures {
 public:
  Closures(Pool& pool, int count) : pool_(pool), left_(count) { AddOne(); }
  bool AllRan() const { return left_.load() == 0; }

 private:
  void AddOne() {
    pool_.Add([this] {
      if (--left_ > 0) AddOne();
    });
  }
  Pool& pool_;
  std::atomic<int> left_;
};

// Far longer than these tests take on any machine: without time slices they never ended.
bool IsTooLate(std::chrono::steady_clock::time_point began) {
  return std::chrono::steady_clock::now() - began > std::chrono::seconds(60);
}

// Workers went from call to call as long as these followed each other closely, and the host's own
// closures waited for seconds.
TEST(ThreadTeam, TheHostsClosuresRunWhileCallsFollowEachOther) {
  Pool pool(1);
  HostPool host = pool.Host();
  host.spin_ns = 100'000'000;
  for (int i = 0; i < 1000; ++i) RunCall(host, 2, 40);
  Closures closures(pool, 20);
  const auto began = std::chrono::steady_clock::now();
  while (!closures.AllRan() && !IsTooLate(began)) RunCall(host, 2, 40);
  EXPECT_TRUE(closures.AllRan());
}

// A call of seconds kept its workers to its end.
void OneCallLeavesTime(Pool& pool, HostPool host, int64_t scratch_bytes) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int64_t> helped{0};
  FakeKernel kernel(
      [&](const backend::KernelFrame& frame, int64_t chunk) {
        if (std::this_thread::get_id() != caller) ++helped;
        if (frame.scratch != nullptr) *static_cast<int64_t*>(frame.scratch) = chunk;
      },
      /*chunks=*/64, /*cost_ns=*/64e3, false, scratch_bytes);
  alignas(64) char scratch[64];
  const auto began = std::chrono::steady_clock::now();
  {
    ThreadTeam team(host, /*cost_ns=*/1e9, scratch_bytes, scratch);
    const auto run = [&] { team.Run(kernel, kernel.Configure({}), nullptr, nullptr); };
    while (helped == 0 && !IsTooLate(began)) run();
    Closures closures(pool, 20);
    while (!closures.AllRan() && !IsTooLate(began)) run();
    EXPECT_TRUE(closures.AllRan());
    // And they come back.
    const int64_t before = helped;
    while (helped == before && !IsTooLate(began)) run();
  }
  EXPECT_FALSE(IsTooLate(began));
}

TEST(ThreadTeam, TheHostsClosuresRunWhileOneCallGoesOn) {
  Pool pool(1);
  OneCallLeavesTime(pool, pool.Host(), /*scratch_bytes=*/64);
  Pool three(3);
  OneCallLeavesTime(three, three.Host(), /*scratch_bytes=*/64);
}

TEST(ThreadTeam, ASliceGrowsToALimitThatALargePoolDoesNotNeed) {
  const auto milliseconds = [](int threads, int doublings) {
    return static_cast<double>(TimeSlice::Length({threads, nullptr, nullptr}, doublings)) / 1e6;
  };
  EXPECT_EQ(milliseconds(1, 0), 1);
  EXPECT_EQ(milliseconds(1, 2), 4);
  EXPECT_EQ(milliseconds(1, ReadyWorkers::kMostPrompt), 4);
  EXPECT_EQ(milliseconds(31, 0), 16);
  EXPECT_EQ(milliseconds(31, ReadyWorkers::kMostPrompt), 16);
}

// A worker that asks for more workers, whose time is up and that finds its own requests at the
// front of its queue, must leave them there: the host's closures stand behind them.
TEST(ThreadTeam, WhatAWorkerAsksForDoesNotJumpTheQueueForEver) {
  Pool pool(1, {}, Pool::Order::kOwnFirst);
  HostPool host = pool.Host();
  host.num_threads = 9;
  OneCallLeavesTime(pool, host, /*scratch_bytes=*/0);
}

// Kernels too small to be shared with a worker that is not there yet bring it back as well.
TEST(ThreadTeam, AWorkerThatLeftComesBackForSmallKernels) {
  Pool pool(1);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int64_t> helped{0};
  const auto count = [&](const backend::KernelFrame&, int64_t) {
    if (std::this_thread::get_id() != caller) ++helped;
  };
  FakeKernel large(count, /*chunks=*/16, /*cost_ns=*/64e3), small(count, 16, /*cost_ns=*/10e3);
  const auto began = std::chrono::steady_clock::now();
  ThreadTeam team(pool.Host(), /*cost_ns=*/1e9, 0, nullptr);
  const auto run = [&](const FakeKernel& kernel) {
    team.Run(kernel, kernel.Configure({}), nullptr, nullptr);
  };
  while (helped == 0 && !IsTooLate(began)) run(large);
  Closures closures(pool, 20);  // between each two of which a worker left
  while (!closures.AllRan() && !IsTooLate(began)) run(small);
  const int64_t before = helped;
  while (helped == before && !IsTooLate(began)) run(small);
  EXPECT_FALSE(IsTooLate(began));
}

TEST(ThreadTeam, ManyCallsAtOnceFromOutsideAndInsideThePool) {
  Pool pool(2);
  HostPool host = pool.Host();
  host.spin_ns = 100'000;
  std::atomic<int> left{20};
  for (int i = 0; i < 20; ++i) {
    pool.Add([&] {
      RunCall(host, 4, 64);
      left.fetch_sub(1);
    });
  }
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) RunCall(i % 2 == 0 ? host : pool.Host(), 4, 64);
    });
  }
  for (std::thread& t : callers) t.join();
  while (left.load() > 0) std::this_thread::yield();
}

}  // namespace
}  // namespace tektite::runtime
