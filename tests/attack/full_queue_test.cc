// Many threads on one cluster while nothing can be compiled, since the queue is full.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime_hooks/c_api/tektite.h"
#include "tests/c_api/test_host.h"

namespace tektite {
namespace {

constexpr char kTanh[] = R"(
graph @tanh(%x: f32[n,4]) -> (f32[n,4]) {
  %0: f32[n,4] = tanh(%x)
  return %0
}
)";

// Occupies the thread that compiles, and the places behind it.
class FullQueue {
 public:
  FullQueue() {
    while (tektite_run_in_background(&Block, this) != 0) {
    }
  }
  ~FullQueue() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
    tektite_wait_until_compiled();
  }

 private:
  static void Block(void* self) {
    auto* const queue = static_cast<FullQueue*>(self);
    std::unique_lock<std::mutex> lock(queue->mutex_);
    queue->changed_.wait(lock, [&] { return queue->open_; });
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

Arg Rows(int64_t rows) { return {{rows, 4}, std::vector<float>(4 * rows, 0.5f)}; }

// A thread that had asked for code for all sizes found no place in the queue.  Other threads had
// taken that code for theirs meanwhile, and were told for ever that it was not compiled yet.
TEST(FullQueue, CodeThatFoundNoPlaceIsMadeLater) {
  constexpr int kClusters = 200, kThreads = 8;
  CompilerPtr compiler = MakeCompiler("--compile=async");
  std::vector<ClusterPtr> clusters;
  {
    FullQueue full;
    for (int c = 0; c < kClusters; ++c) {
      clusters.push_back(MakeCluster(compiler.get(), kTanh));
      ASSERT_NE(clusters.back(), nullptr);
      std::atomic<int> begun{0};
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          ++begun;
          while (begun < kThreads) std::this_thread::yield();
          for (int i = 0; i < 3; ++i) {
            Call call;
            EXPECT_EQ(call.Run(clusters.back().get(), {Rows(2 + t)}), TEKTITE_UNAVAILABLE);
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
  }
  int stuck = 0;
  for (const ClusterPtr& cluster : clusters) {
    for (int t = 0; t < kThreads; ++t) {
      Call call;
      for (int i = 0; i < 3 && call.Run(cluster.get(), {Rows(2 + t)}) != TEKTITE_OK; ++i) {
        tektite_wait_until_compiled();
      }
      stuck += call.Run(cluster.get(), {Rows(2 + t)}) == TEKTITE_OK ? 0 : 1;
    }
  }
  EXPECT_EQ(stuck, 0) << "of " << kClusters * kThreads << " sizes";
}

}  // namespace
}  // namespace tektite
