#include "jit/runtime/backoff.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "jit/base/timing.h"

namespace tektite::runtime {
namespace {

// A wait that yielded gave up a whole slice each time, and stood last when its work came: on a busy
// machine a text encoder took 32 ms a call where TensorFlow took 18.
TEST(Backoff, SleepsOnACrowdedMachine) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> crowd;
  for (int64_t i = 0; i < 3 * sysconf(_SC_NPROCESSORS_ONLN); ++i) {
    crowd.emplace_back([&stop] {
      while (!stop.load(std::memory_order_relaxed)) {
      }
    });
  }
  int64_t sleeps = 0;
  std::thread waiting([&sleeps] {
    Backoff backoff;
    const Stopwatch watch;
    rusage usage;
    while (sleeps < 10 && watch.Seconds() < 20) {
      backoff.Wait();
      getrusage(RUSAGE_THREAD, &usage);
      sleeps = usage.ru_nvcsw;  // a yield is none of these
    }
  });
  waiting.join();
  stop = true;
  for (std::thread& thread : crowd) thread.join();
  EXPECT_GE(sleeps, 10);
}

}  // namespace
}  // namespace tektite::runtime
