// The command's own pool of threads, in the form of the C interface.
//
//   ThreadPool pool(3);
//   call.num_threads = pool.size(); call.schedule = &ThreadPool::Schedule; // context: &pool
#ifndef TEKTITE_RUNTIME_HOOKS_STANDALONE_THREAD_POOL_H_
#define TEKTITE_RUNTIME_HOOKS_STANDALONE_THREAD_POOL_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tektite::standalone {

class ThreadPool {
 public:
  explicit ThreadPool(int size) {
    for (int i = 0; i < size; ++i) threads_.emplace_back([this] { Loop(); });
  }
  // Runs the closures that are still queued.
  ~ThreadPool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  int size() const { return static_cast<int>(threads_.size()); }
  void Schedule(void (*fn)(void*), void* arg) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      tasks_.emplace_back(fn, arg);
    }
    changed_.notify_one();
  }

 private:
  void Loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const auto [fn, arg] = tasks_.front();
      tasks_.pop_front();
      lock.unlock();
      fn(arg);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<void (*)(void*), void*>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tektite::standalone

#endif  // TEKTITE_RUNTIME_HOOKS_STANDALONE_THREAD_POOL_H_
