// The time that the host's kernels have taken for a cluster, by which it is decided when compiling
// it is likely to pay (compile_cost.h).
//
// Why: a first call makes kernels, oneDNN's among them, and touches memory for the first time.
// Compiled code does not save that, and it is several times what a call takes: a step of two small
// products was compiled after its first call of 10 ms, where further ones take 0.2.  So the first
// call counts as no longer than the second.  A call of kLong counts at once: what is compiled
// beside it must not wait for another one.
//
// Example(HostTime& time, int64_t first, int64_t second):
//   time.Add(first);
//   time.Add(second);
//   time.total();   // 2 * second, where the first took longer
//
// Thread-safe: of first calls that overlap, one is corrected.
#ifndef TEKTITE_JIT_SERVING_HOST_TIME_H_
#define TEKTITE_JIT_SERVING_HOST_TIME_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace tektite::serving {

class HostTime {
 public:
  static constexpr int64_t kLong = 300'000'000;

  void Add(int64_t ns) {
    if (!has_begun_.exchange(true, std::memory_order_relaxed) && ns < kLong) {
      first_.store(ns, std::memory_order_relaxed);
      return;
    }
    if (first_.load(std::memory_order_relaxed) != 0) {
      ns += std::min(ns, first_.exchange(0, std::memory_order_relaxed));
    }
    total_.fetch_add(ns, std::memory_order_relaxed);
  }
  // Whether a call has ended.
  bool has_begun() const { return has_begun_.load(std::memory_order_relaxed); }
  // Nanoseconds.
  int64_t total() const { return total_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> has_begun_{false};
  std::atomic<int64_t> first_{0};  // of the first call, until the second ends
  std::atomic<int64_t> total_{0};
};

}  // namespace tektite::serving
#endif  // TEKTITE_JIT_SERVING_HOST_TIME_H_
