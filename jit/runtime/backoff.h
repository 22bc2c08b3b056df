// Waiting for another thread without sleeping.
#ifndef TEKTITE_JIT_RUNTIME_BACKOFF_H_
#define TEKTITE_JIT_RUNTIME_BACKOFF_H_

#include <sched.h>

namespace tektite::runtime {

// Short waits spin; long ones let others have the core.
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
