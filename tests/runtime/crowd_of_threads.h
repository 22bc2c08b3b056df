// Threads that keep every core busy three times over, as other programs do.
//
//   const CrowdOfThreads crowd;   // until its end
#ifndef TEKTITE_TESTS_RUNTIME_CROWD_OF_THREADS_H_
#define TEKTITE_TESTS_RUNTIME_CROWD_OF_THREADS_H_

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tektite::runtime {

class CrowdOfThreads {
 public:
  CrowdOfThreads() {
    const int64_t count = 3 * sysconf(_SC_NPROCESSORS_ONLN);
    for (int64_t i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        started_.fetch_add(1);
        while (!stop_.load(std::memory_order_relaxed)) {
        }
      });
    }
    while (started_.load() < count) std::this_thread::yield();
  }
  ~CrowdOfThreads() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  CrowdOfThreads(const CrowdOfThreads&) = delete;
  CrowdOfThreads& operator=(const CrowdOfThreads&) = delete;

 private:
  std::atomic<int64_t> started_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_TESTS_RUNTIME_CROWD_OF_THREADS_H_
