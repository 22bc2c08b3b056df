// When a cluster stops trying compiled code.
//
// Why: a check that fails in every call makes the work twice, and a cluster that cannot be compiled
// asks for code in every call for nothing.  After kMostFailures calls in a row that failed, the
// host's kernels run at once.  One call after kFirstPause of these tries again, since another shape
// or other values may do; each time that fails the pause doubles.  Where a pass has added checks,
// the second failure in a row has the code made again without them (cluster.cc), so that the third
// call need not fail.
//
// Example(GivingWay& giving_way, bool (*run_code)(), void (*run_host)()):
//   if (giving_way.Skips()) {
//     run_host();
//   } else if (run_code()) {
//     giving_way.Succeeded();
//   } else {
//     giving_way.Failed();
//     run_host();
//   }
//
// Thread-safe: calls that overlap may fail or try a few times more.
#ifndef TEKTITE_JIT_SERVING_GIVING_WAY_H_
#define TEKTITE_JIT_SERVING_GIVING_WAY_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace tektite::serving {

class GivingWay {
 public:
  static constexpr int kMostFailures = 3;
  static constexpr int64_t kFirstPause = 64;
  static constexpr int kMostDoublings = 14;  // a million calls

  // Whether this call is the host's.
  bool Skips() {
    return HasGivenWay() && pause_.load(std::memory_order_relaxed) > 0 &&
           pause_.fetch_sub(1, std::memory_order_relaxed) > 0;
  }
  void Failed() {
    const int failures = failures_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (failures < kMostFailures) return;
    const int doublings = std::min(failures - kMostFailures, kMostDoublings);
    pause_.store(kFirstPause << doublings, std::memory_order_relaxed);
    if (doublings == kMostDoublings) failures_.store(failures - 1, std::memory_order_relaxed);
  }
  void Succeeded() {
    if (failures_.load(std::memory_order_relaxed) != 0) {
      failures_.store(0, std::memory_order_relaxed);
    }
  }
  // Whether the latest call failed.
  bool HasFailed() const { return failures_.load(std::memory_order_relaxed) > 0; }
  bool HasGivenWay() const { return failures_.load(std::memory_order_relaxed) >= kMostFailures; }

 private:
  std::atomic<int> failures_{0};  // in a row
  std::atomic<int64_t> pause_{0};
};

}  // namespace tektite::serving
#endif  // TEKTITE_JIT_SERVING_GIVING_WAY_H_
