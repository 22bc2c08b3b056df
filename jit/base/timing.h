// Wall-clock measurement for counters and --time_passes.
//
//   const Stopwatch watch;
//   ... work ...
//   total += watch.Seconds();
//
// Limits: wall time, which includes the time that other threads had the core.
#ifndef TEKTITE_JIT_BASE_TIMING_H_
#define TEKTITE_JIT_BASE_TIMING_H_

#include <time.h>

#include <chrono>
#include <cstdint>

namespace tektite {

// Of a clock that only goes forward.
inline int64_t Nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Of processor time of the calling thread.
inline int64_t ThreadNanoseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Seconds since construction.
class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_TIMING_H_
