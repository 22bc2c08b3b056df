// Waiting for another thread: by spinning, and by sleeping on a machine that other programs crowd.
//
//   Backoff backoff;
//   while (!done.load(std::memory_order_acquire)) backoff.Wait();
//
// Short waits spin, long ones yield the core. A yield is cheap where nothing else wants the core.
// Otherwise it is dear: Linux (since 6.18) charges a thread that yields for all of the slice that
// it gave up, and one that spins for what it spun, so that both stand last in the queue when their
// work comes. Threads that sleep come first there. Hence long waits sleep in a crowd (crowd.h).
//
// Means of calls of MobileNetV2 on two cores beside busy loops, in ms:
//
//   loops    none     1     2      4
//   yields    2.9   4.9   9.8   19.0
//   sleeps    2.9   6.5   8.2    8.9
//
// Limits: a wait must have an end that other threads reach soon; a sleep ends up to 60 us late.
#ifndef TEKTITE_JIT_RUNTIME_BACKOFF_H_
#define TEKTITE_JIT_RUNTIME_BACKOFF_H_

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

#endif  // TEKTITE_JIT_RUNTIME_BACKOFF_H_
