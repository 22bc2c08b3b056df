#include "runtime_hooks/tensorflow/hook/fallback/abandonable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tektite::tf_hook {
namespace {

TEST(Abandonable, WorkThatIsDoneIsTheOwners) {
  Abandonable work;
  ASSERT_TRUE(work.Begin());
  EXPECT_FALSE(work.is_done());
  EXPECT_TRUE(work.End());
  EXPECT_TRUE(work.is_done());
  EXPECT_TRUE(work.Abandon());
}

TEST(Abandonable, WorkThatHasNotBegunNeverWill) {
  Abandonable work;
  EXPECT_TRUE(work.Abandon());
  EXPECT_FALSE(work.Begin());
}

// The owner waited for the work with a lock held that the work wanted: Python's, which XLA asks
// for.
TEST(Abandonable, TheOwnerDoesNotWait) {
  std::mutex python;
  for (int i = 0; i < 200; ++i) {
    const auto work = std::make_shared<Abandonable>();
    WorkCount count;
    count.Add();
    std::atomic<bool> has_begun{false};
    auto made = std::make_unique<int>(i);
    std::unique_lock<std::mutex> lock(python);
    std::thread worker([&, work] {
      if (work->Begin()) {
        has_begun = true;
        { const std::lock_guard<std::mutex> wanted(python); }
        if (!work->End()) made = nullptr;
      }
      count.Remove();
    });
    while (i % 2 == 0 && !has_begun) std::this_thread::yield();
    if (work->Abandon()) made = nullptr;
    lock.unlock();
    count.WaitUntilNone();
    EXPECT_EQ(made, nullptr);
    worker.join();
  }
}

TEST(WorkCount, WaitsForAll) {
  WorkCount count;
  std::atomic<int> ended{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < 8; ++i) {
    count.Add();
    workers.emplace_back([&] {
      ++ended;
      count.Remove();
    });
  }
  count.WaitUntilNone();
  EXPECT_EQ(ended, 8);
  for (std::thread& worker : workers) worker.join();
}

}  // namespace
}  // namespace tektite::tf_hook
