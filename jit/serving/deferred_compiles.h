// Compilations that wait until they are likely to pay.
//
//   deferred.Add(code, cluster, [=] { start it });   // true: it waits
//   ...
//   if (auto start = deferred.Take(code)) start();   // at the call that makes it worth its while
//   deferred.StartAll();                             // a thread waits for code
//
// Why: compiling takes processor time that a program of two threads feels.  Code for what runs a
// hundred times costs more than it ever saves, and of twelve clusters the one that takes most of
// the time must come first.  This is the ski rental problem: compile once the host's kernels have
// taken a set part of what compiling is estimated to cost (flag compile_after_percent), and no
// program loses much more than that part.
//
// Thread-safe.  Each start is called once at most.  Limits: kMost wait; further ones do not.
#ifndef TEKTITE_JIT_SERVING_DEFERRED_COMPILES_H_
#define TEKTITE_JIT_SERVING_DEFERRED_COMPILES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace tektite::serving {

// Nanoseconds of processor time that compiling a graph of so many ops takes, about.  Large graphs
// repeat their layers, and equal kernels are compiled once: steps of 172, 529, 968, 1284 and 2583
// ops took 0.38, 0.65, 0.92, 1.43 and 1.38 s (Zen 4; gru_train, bilstm_train,
// convnext_train, network_f32_train, encoder_f32_train of bench/compare).  One of 277 with two
// convolutional LSTMs took 1.44.
inline int64_t EstimateCompileNs(int64_t num_ops) {
  constexpr int64_t kMostApart = 300, kNsPerOp = 2'000'000, kNsPerFurtherOp = 350'000;
  const int64_t apart = std::min(num_ops, kMostApart);
  return apart * kNsPerOp + (num_ops - apart) * kNsPerFurtherOp;
}

// The part of that which the host's kernels have to take first.  On one CPU it is a quarter: there
// compiling takes its time once, however early it begins.  On several, the threads of the host's
// kernels wait for each other, so that one that has to share its CPU holds up all (a training step
// of 13.6 ms on two CPUs takes 27 while code is made for it).
inline double PartToWaitFor(int64_t percent, int num_cpus) {
  return static_cast<double>(percent) / (num_cpus == 1 ? 400 : 100);
}

class DeferredCompiles {
 public:
  using Start = std::function<void()>;
  static constexpr size_t kMost = 256;

  // Those of all compilers of the process: a thread that waits, waits for all.
  static DeferredCompiles& Get();

  // False when too many wait already; `start` is then left to the caller.  It is dropped where
  // there is no room and its owner has gone.
  bool Add(const void* code, std::weak_ptr<const void> owner, Start start);
  // Null when it does not wait (any more).
  Start Take(const void* code);
  void StartAll();

 private:
  struct Waiting {
    std::weak_ptr<const void> owner;
    Start start;
  };

  std::mutex mutex_;
  std::map<const void*, Waiting> waiting_;
};

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_DEFERRED_COMPILES_H_
