// Waiting for another thread: by spinning, and by sleeping on a machine that other programs crowd.
//
//   Backoff backoff;
//   while (!done.load(std::memory_order_acquire)) backoff.Wait();
//
// Short waits spin, long ones yield the core. A yield is cheap where nothing else wants the core.
// Otherwise it was measured to be dear (Linux 6.18, /proc/PID/schedstat: 3 ms in the queue for each
// 0.4 ms that the thread ran), as if a thread that yields were charged for the rest of its slice;
// a thread that sleeps comes back first. Hence long waits sleep in a crowd (crowd.h): means of
// calls beside four busy loops on two cores are half of those with yields (MobileNetV2 9 instead of
// 19 ms). Beside one loop always sleeping is slower (6.5 instead of 4.9 ms).
//
// Limits: a wait must have an end that other threads reach soon; a sleep ends up to 60 us late.
#ifndef TEKTITE_JIT_RUNTIME_THREADS_BACKOFF_H_
#define TEKTITE_JIT_RUNTIME_THREADS_BACKOFF_H_

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
  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  static void GiveWay();

  unsigned turns_ = 0;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_THREADS_BACKOFF_H_
