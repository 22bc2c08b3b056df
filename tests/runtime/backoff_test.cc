#include "jit/runtime/threads/backoff.h"

#include <sys/resource.h>

#include <cstdint>
#include <thread>

#include "gtest/gtest.h"
#include "jit/base/timing.h"
#include "tests/runtime/crowd_of_threads.h"

namespace tektite::runtime {
namespace {

// A wait that yielded gave up a whole slice each time, and stood last when its work came: on a busy
// machine a text encoder took 32 ms a call where TensorFlow took 18.
TEST(Backoff, SleepsOnACrowdedMachine) {
  const CrowdOfThreads crowd;
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
  EXPECT_GE(sleeps, 10);
}

}  // namespace
}  // namespace tektite::runtime
