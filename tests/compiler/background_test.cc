#include "jit/compiler/background.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "jit/compiler/compile_budget.h"

namespace tektite::compiler {
namespace {

using std::chrono::milliseconds;

// The thread sanitizer knows of no threads that a forked process starts.
#if defined(__SANITIZE_THREAD__)
#define SKIP_WITHOUT_THREADS_IN_CHILD() GTEST_SKIP() << "under the thread sanitizer"
#else
#define SKIP_WITHOUT_THREADS_IN_CHILD() static_cast<void>(0)
#endif

// Runs `body` in a child process; its exit code is what `body` returns.
template <typename Body>
int InChild(Body&& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// For a task: it runs until Checkpoint cancels it, with checkpoints as a compiler has them.
void RunUntilStopped(const std::atomic<bool>& stop) {
  while (!stop && Background::Checkpoint().ok()) std::this_thread::sleep_for(milliseconds(1));
}

TEST(Background, RunsWhatWasSubmittedInOrder) {
  std::vector<int> order;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(Background::Get().Submit([&order, i] { order.push_back(i); }));
  }
  Background::Get().WaitUntilIdle();
  ASSERT_EQ(order.size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order[i], i);
}

TEST(Background, ThreadsHaveAName) {
  char name[16] = "";
  Background::Get().Submit([&] { pthread_getname_np(pthread_self(), name, sizeof(name)); });
  Background::Get().WaitUntilIdle();
  EXPECT_STREQ(name, "tektite-compile");
}

int Niceness() { return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid))); }

TEST(Background, HasAPriorityBelowTheCallers) {
  const int here = Niceness();
  int there = here;
  Background::Get().Submit([&] { there = Niceness(); });
  Background::Get().WaitUntilIdle();
  EXPECT_TRUE(there > here || here == 19) << here << " " << there;
}

// Tasks of either priority, in turns: each has a thread of its own.
TEST(Background, MayHaveThePriorityOfTheCallers) {
  const int here = Niceness();
  int below = -1, as = -1;
  for (int i = 0; i < 3; ++i) {
    Background::Get().Submit([&] { below = Niceness(); });
    Background::Get().Submit([&] { as = Niceness(); }, Background::Priority::kAsCallers);
  }
  Background::Get().WaitUntilIdle();
  EXPECT_EQ(as, here);
  EXPECT_TRUE(below > here || here == 19) << here << " " << below;
}

TEST(Background, OneTaskRunsAtATimeWhateverItsPriority) {
  std::atomic<int> running{0}, most{0};
  for (int i = 0; i < 20; ++i) {
    const auto priority =
        i % 2 == 0 ? Background::Priority::kAsCallers : Background::Priority::kBelowCallers;
    ASSERT_TRUE(Background::Get().Submit(
        [&] {
          const int now = ++running;
          if (now > most) most = now;
          std::this_thread::sleep_for(milliseconds(1));
          --running;
        },
        priority));
  }
  Background::Get().WaitUntilIdle();
  EXPECT_EQ(most, 1);
}

TEST(Background, RefusesWhenTheQueueIsFull) {
  std::atomic<bool> stop{false};
  Background::Get().Submit([&] { RunUntilStopped(stop); });
  size_t taken = 0;
  while (taken <= Background::kMostTasks && Background::Get().Submit([] {})) ++taken;
  EXPECT_LE(taken, Background::kMostTasks);
  EXPECT_GE(taken, Background::kMostTasks - 1);
  stop = true;
  Background::Get().WaitUntilIdle();
  EXPECT_TRUE(Background::Get().Submit([] {}));
  Background::Get().WaitUntilIdle();
}

TEST(Background, SubmittersAndTasksMayRace) {
  std::atomic<int> done{0}, taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        if (Background::Get().Submit([&] { ++done; })) ++taken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Background::Get().WaitUntilIdle();
  EXPECT_EQ(done, taken);
  EXPECT_GT(taken, 0);
}

TEST(Background, WhatATaskHoldsIsGoneWhenItCountsAsDone) {
  auto held = std::make_shared<int>(7);
  Background::Get().Submit([held] {});
  Background::Get().WaitUntilIdle();
  EXPECT_EQ(held.use_count(), 1);
}

// A child has none of its parent's threads: without a state of its own its tasks would wait for
// ever, and its exit would join a thread that is not there.
TEST(Background, AChildStartsThreadsOfItsOwn) {
  SKIP_WITHOUT_THREADS_IN_CHILD();
  Background::Get().Submit([] {});
  Background::Get().WaitUntilIdle();
  EXPECT_EQ(InChild([] {
              std::atomic<int> done{0};
              if (!Background::Get().Submit([&] { ++done; })) return 1;
              Background::Get().WaitUntilIdle();
              return done == 1 ? 0 : 2;
            }),
            0);
}

TEST(Background, AChildBeginsAnewWhatWasRunning) {
  SKIP_WITHOUT_THREADS_IN_CHILD();
  std::atomic<bool> stop{false};
  std::atomic<int> begun{0}, later{0};
  Background::Get().Submit([&] {
    ++begun;
    RunUntilStopped(stop);
  });
  Background::Get().Submit([&] { ++later; });
  while (begun == 0) std::this_thread::yield();
  EXPECT_EQ(InChild([&] {
              stop = true;
              Background::Get().WaitUntilIdle();
              return begun == 2 && later == 1 ? 0 : 2;
            }),
            0);
  EXPECT_EQ(begun, 1);
  stop = true;
  Background::Get().WaitUntilIdle();
  EXPECT_EQ(later, 1);
}

TEST(Background, AForkDoesNotWaitForeverAndTheChildThenCompilesNothing) {
  std::atomic<bool> stop{false}, begun{false};
  Background::Get().Submit([&] {
    begun = true;
    while (!stop) std::this_thread::sleep_for(milliseconds(1));  // a step without a checkpoint
  });
  while (!begun) std::this_thread::yield();
  // Returns after Background::kForkPatience, although the step goes on.
  EXPECT_EQ(InChild([] { return Background::Get().Submit([] {}) ? 1 : 0; }), 0);
  stop = true;
  Background::Get().WaitUntilIdle();
  EXPECT_TRUE(Background::Get().Submit([] {}));
  Background::Get().WaitUntilIdle();
}

TEST(Background, ManyForksWhileTasksRun) {
  SKIP_WITHOUT_THREADS_IN_CHILD();
  std::atomic<bool> stop{false};
  Background::Get().Submit([&] { RunUntilStopped(stop); });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(InChild([&] {
                stop = true;
                std::atomic<int> done{0};
                if (!Background::Get().Submit([&] { ++done; })) return 1;
                Background::Get().WaitUntilIdle();
                return done == 1 ? 0 : 2;
              }),
              0);
  }
  stop = true;
  Background::Get().WaitUntilIdle();
}

// exit() in a child runs the handlers that exit() here would.
TEST(Background, TheProcessEndsWhileATaskRuns) {
  SKIP_WITHOUT_THREADS_IN_CHILD();
  const pid_t child = fork();
  if (child == 0) {
    static std::atomic<bool> never{false}, begun{false};
    Background::Get().Submit([] {
      begun = true;
      RunUntilStopped(never);
    });
    Background::Get().Submit([] { _exit(3); });
    while (!begun) std::this_thread::yield();
    exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// A library that a task is in may make static objects there, which were destroyed while the task
// still used them.
TEST(Background, ATaskEndsBeforeWhatItHasMadeStatic) {
  SKIP_WITHOUT_THREADS_IN_CHILD();
  struct Static {
    std::atomic<bool> in_use{false};
    ~Static() {
      if (in_use) _exit(3);
    }
  };
  const int code = InChild([]() -> int {
    static std::atomic<bool> never{false}, began{false};
    Background::Get().Submit([] {
      static Static made;
      made.in_use = true;
      began = true;
      RunUntilStopped(never);
      made.in_use = false;
    });
    while (!began) std::this_thread::yield();
    exit(0);
  });
  EXPECT_EQ(code, 0);
}

// Stop joined the thread that it ran on, which std::thread answers with an exception, and the exit
// handler with std::terminate.
TEST(Background, ATaskMayEndTheProcess) {
  SKIP_WITHOUT_THREADS_IN_CHILD();
  EXPECT_EQ(InChild([] {
              Background::Get().Submit([] { exit(3); });
              while (true) pause();
              return 0;
            }),
            3);
}

// Each ended the process by std::terminate.
TEST(Background, ATaskThatThrowsLeavesTheOthers) {
  int done = 0;
  Background::Get().Submit([] { throw std::runtime_error("thrown by a test"); });
  Background::Get().Submit([] { throw 3; });
  Background::Get().Submit([&] { ++done; });
  Background::Get().WaitUntilIdle();
  EXPECT_EQ(done, 1);
}

TEST(Background, WithoutThreadsTasksAreRefused) {
  SKIP_WITHOUT_THREADS_IN_CHILD();
  EXPECT_EQ(InChild([] {
              // No thread gets a stack as large as all memory that can be addressed.
              pthread_attr_t attributes;
              pthread_attr_init(&attributes);
              if (pthread_attr_setstacksize(&attributes, size_t{1} << 47) != 0) return 2;
              if (pthread_setattr_default_np(&attributes) != 0) return 3;
              if (Background::Get().Submit([] {})) return 1;
              Background::Get().WaitUntilIdle();
              return 0;
            }),
            0);
}

void Burn(int64_t milliseconds_of_work) {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  const int64_t end = now.tv_sec * 1000 + now.tv_nsec / 1000000 + milliseconds_of_work;
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < end);
}

TEST(CompileBudget, SessionsAddUp) {
  CompileBudget budget({20, 0});
  for (int i = 0; i < 2; ++i) {
    CompileBudget::Session session(&budget);
    EXPECT_TRUE(session.Check().ok());
    Burn(12);
  }
  CompileBudget::Session session(&budget);
  EXPECT_EQ(session.Check().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(session.Check().message().find("--compile_budget_ms=20"), absl::string_view::npos);
}

TEST(CompileBudget, WaitingIsNoWork) {
  CompileBudget budget({20, 0});
  CompileBudget::Session session(&budget);
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_TRUE(session.Check().ok());
}

TEST(CompileBudget, MemoryIsBounded) {
  CompileBudget budget({0, 16});
  CompileBudget::Session session(&budget);
  EXPECT_TRUE(session.Check().ok());
  std::vector<char> much(64 << 20, 1);
  EXPECT_EQ(session.Check().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(session.Check().message().find("more than 16 MiB"), absl::string_view::npos);
  EXPECT_EQ(much.back(), 1);
}

TEST(CompileBudget, NoneIsNoLimit) {
  CompileBudget::Session session(nullptr);
  EXPECT_TRUE(session.Check().ok());
}

}  // namespace
}  // namespace tektite::compiler
