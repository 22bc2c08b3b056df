#include "runtime_hooks/tensorflow/hook/run/closure_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace tektite::tf_hook {
namespace {

using Closure = ClosureQueue::Closure;

TEST(ClosureQueue, TheWaitingThreadWorksWhereNobodyElseDoes) {
  const auto queue = std::make_shared<ClosureQueue>([](Closure) {});  // a pool whose threads wait
  const std::thread::id self = std::this_thread::get_id();
  int done = 0;
  const std::function<void()> step = [&] {
    EXPECT_EQ(std::this_thread::get_id(), self);
    if (++done == 100) return queue->Finish();
    if (done % 10 == 0) queue->Add([] {});
    queue->Add(step);
  };
  queue->Add(step);
  queue->RunUntilFinished();
  EXPECT_EQ(done, 100);
}

TEST(ClosureQueue, OthersHelpWhileTheWaitingThreadIsBusy) {
  std::vector<std::thread> others;
  const auto queue = std::make_shared<ClosureQueue>(
      [&](Closure closure) { others.emplace_back(std::move(closure)); });
  std::atomic<bool> helped{false};
  queue->Add([&] {
    queue->Add([&] { helped = true; });
    while (!helped) std::this_thread::yield();  // for ever if no thread did
    queue->Finish();
  });
  queue->RunUntilFinished();
  for (std::thread& other : others) other.join();
  EXPECT_TRUE(helped);
}

TEST(ClosureQueue, SleepsUntilSomethingComes) {
  const auto queue = std::make_shared<ClosureQueue>([](Closure closure) { closure(); });
  std::atomic<int> done{0};
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) queue->Add([&] { ++done; });
    queue->Add([&] { queue->Finish(); });
  });
  queue->RunUntilFinished();
  other.join();
  EXPECT_EQ(done, 1000);
}

}  // namespace
}  // namespace tektite::tf_hook
