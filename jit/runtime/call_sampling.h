// Which calls of an executable a profile times step by step: the first ones, then one in so many.
//
// Why: reading the clock around each step costs a call of small kernels some per cent.  The shorter
// the steps, the fewer calls are timed, so that timing takes at most 1/kShare of the time.
//
// Example(int64_t took_ns, int64_t num_steps):
//   tektite::runtime::CallSampling sampling;
//   const int weight = sampling.Enter();          // 0: not timed; else it stands for so many calls
//   if (weight > 0) sampling.Took(took_ns, num_steps);
//
// Limits: weights are those of the moment, so that a call whose length changes is counted by what
// its predecessors took.  Thread-safe.
#ifndef TEKTITE_JIT_RUNTIME_CALL_SAMPLING_H_
#define TEKTITE_JIT_RUNTIME_CALL_SAMPLING_H_

#include <atomic>
#include <cstdint>

namespace tektite::runtime {

class CallSampling {
 public:
  static constexpr int64_t kAll = 100;     // calls that are timed at first
  static constexpr int kFewest = 8;        // then at most one in so many is
  static constexpr int kMost = 1024;       // and at least one
  static constexpr int64_t kShare = 200;   // of the time: 0.5 %
  static constexpr int64_t kStepNs = 100;  // two readings of the clock and four counters

  // How many calls the next one stands for; 0: it is not timed.
  int Enter() {
    const int64_t call = calls_.fetch_add(1, std::memory_order_relaxed);
    const int one_in = call < kAll ? 1 : one_in_.load(std::memory_order_relaxed);
    if (call % one_in != 0) return 0;
    timed_.fetch_add(1, std::memory_order_relaxed);
    return one_in;
  }

  // Of a timed call: nanoseconds, and the steps that ran, turns of loops included.
  void Took(int64_t nanoseconds, int64_t num_steps) {
    int one_in = kFewest;
    while (one_in < kMost && num_steps * kStepNs * kShare > nanoseconds * one_in) one_in *= 2;
    one_in_.store(one_in, std::memory_order_relaxed);
  }

  int64_t num_calls() const { return calls_.load(std::memory_order_relaxed); }
  int64_t num_timed() const { return timed_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> calls_{0}, timed_{0};
  std::atomic<int> one_in_{kFewest};
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_CALL_SAMPLING_H_
