// A host's thread pool, for tests.
#ifndef TEKTITE_TESTS_RUNTIME_TEST_POOL_H_
#define TEKTITE_TESTS_RUNTIME_TEST_POOL_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "jit/runtime/threads/thread_team.h"

namespace tektite::runtime {

// A plain pool; `delay` before each task makes workers late.  kOwnFirst: what a thread of the pool
// adds goes to the queue's front, as in Eigen's pool.
class Pool {
 public:
  enum class Order { kFirstIn, kOwnFirst };
  explicit Pool(int threads, std::chrono::microseconds delay = {}, Order order = Order::kFirstIn)
      : delay_(delay), order_(order) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
  }
  ~Pool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  HostPool Host() {
    return {static_cast<int>(threads_.size()), this, [](void* self, void (*fn)(void*), void* arg) {
              static_cast<Pool*>(self)->Add([fn, arg] { fn(arg); });
            }};
  }
  void Add(std::function<void()> task) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (order_ == Order::kOwnFirst && InPool()) {
        tasks_.push_front(std::move(task));
      } else {
        tasks_.push_back(std::move(task));
      }
    }
    wake_.notify_one();
  }

 private:
  // `this` for a thread of the pool.
  static Pool*& Mine() {
    static thread_local Pool* mine = nullptr;
    return mine;
  }
  bool InPool() { return Mine() == this; }
  void Loop() {
    Mine() = this;
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      if (delay_.count() > 0) std::this_thread::sleep_for(delay_);
      task();
      lock.lock();
    }
  }
  const std::chrono::microseconds delay_;
  const Order order_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_TESTS_RUNTIME_TEST_POOL_H_
