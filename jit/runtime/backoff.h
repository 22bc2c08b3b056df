// Waiting for another thread: by spinning, and by sleeping where other programs want the core.
//
//   Backoff backoff;
//   while (!done.load(std::memory_order_acquire)) backoff.Wait();
//
// Short waits spin, long ones yield the core. A yield is cheap where nothing else wants the core.
// On a busy machine it is dear: Linux (since 6.18) charges a thread that yields for the whole slice
// that it gave up, and a thread that spins for what it spun, so that it stands last in the queue
// when its work comes. Threads that sleep come first there. A yield or a sleep that took long shows
// such a machine, and waits of the next kBusyNs sleep. (A text encoder on two CPUs beside three
// builds: 32 ms a call with yields, 12 with sleeps; TensorFlow 18.)
//
// Limits: a wait must have an end that other threads reach soon; a sleep ends up to 60 us late.
#ifndef TEKTITE_JIT_RUNTIME_BACKOFF_H_
#define TEKTITE_JIT_RUNTIME_BACKOFF_H_

#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "jit/base/timing.h"

namespace tektite::runtime {

class Backoff {
 public:
  void Wait() {
    if (++turns_ % 128 != 0 || turns_ < 1024) {
      Pause();
    } else {
      GiveWay();
    }
  }
  void Reset() { turns_ = 0; }

 private:
  static constexpr int64_t kBusyNs = 100'000'000;
  // A yield to one of the system's own threads, or a sleep's end, takes less.
  static constexpr int64_t kLongNs = 300'000;
  static constexpr int64_t kSleepNs = 2'000;  // Linux adds 50 us

  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  static void GiveWay() {
    const int64_t now = Nanoseconds();
    if (now < busy_until_.load(std::memory_order_relaxed)) {
      const timespec duration{0, kSleepNs};
      nanosleep(&duration, nullptr);
    } else {
      sched_yield();
    }
    const int64_t after = Nanoseconds();
    if (after - now > kLongNs) busy_until_.store(after + kBusyNs, std::memory_order_relaxed);
  }

  static inline std::atomic<int64_t> busy_until_{0};  // of the process

  unsigned turns_ = 0;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_BACKOFF_H_
