// Compilations that wait until they are likely to pay.
//
//   deferred.Add(code, [=] { start it });     // true: it waits
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

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace tektite::serving {

// Nanoseconds of processor time that compiling a graph of so many ops takes, about: 1.4 to 2.9 ms
// an op were measured for three training steps of 240 to 490 ops (Sapphire Rapids).
inline constexpr int64_t kCompileNsPerOp = 2'000'000;

class DeferredCompiles {
 public:
  using Start = std::function<void()>;
  static constexpr size_t kMost = 256;

  // Those of all compilers of the process: a thread that waits, waits for all.
  static DeferredCompiles& Get();

  // False when too many wait already; `start` is then left to the caller.
  bool Add(const void* code, Start start);
  // Null when it does not wait (any more).
  Start Take(const void* code);
  void StartAll();

 private:
  std::mutex mutex_;
  std::map<const void*, Start> waiting_;
};

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_DEFERRED_COMPILES_H_
