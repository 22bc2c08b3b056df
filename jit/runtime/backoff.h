// Waiting for another thread without sleeping.
//
//   Backoff backoff;
//   while (!done.load(std::memory_order_acquire)) backoff.Wait();
//
// Limits: it never sleeps, so a wait must have an end that other threads reach soon.
#ifndef TEKTITE_JIT_RUNTIME_BACKOFF_H_
#define TEKTITE_JIT_RUNTIME_BACKOFF_H_

#include <sched.h>

namespace tektite::runtime {

// Short waits spin; long ones yield the core.
class Backoff {
 public:
  void Wait() {
    if (++turns_ % 128 != 0 || turns_ < 1024) {
      Pause();
    } else {
      sched_yield();
    }
  }
  void Reset() { turns_ = 0; }

 private:
  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  unsigned turns_ = 0;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_BACKOFF_H_
