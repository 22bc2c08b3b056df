#include "jit/runtime/call_sampling.h"

#include <gtest/gtest.h>

namespace tektite::runtime {
namespace {

// The calls that are timed of `calls`, each of so many nanoseconds and steps, and what they stand
// for.
struct Sampled {
  int64_t timed = 0, stands_for = 0;
};

Sampled Sample(CallSampling& sampling, int64_t calls, int64_t nanoseconds, int64_t steps) {
  Sampled sampled;
  for (int64_t call = 0; call < calls; ++call) {
    const int weight = sampling.Enter();
    if (weight == 0) continue;
    ++sampled.timed;
    sampled.stands_for += weight;
    sampling.Took(nanoseconds, steps);
  }
  return sampled;
}

TEST(CallSampling, TimesAllFirstCalls) {
  CallSampling sampling;
  EXPECT_EQ(Sample(sampling, CallSampling::kAll, 1000, 1).timed, CallSampling::kAll);
}

// Every eighth call was timed, however short: 3 % of calls of 5 us with ten steps.
TEST(CallSampling, TimingTakesABoundedShareOfShortCalls) {
  for (const int64_t nanoseconds : {1'000, 5'000, 45'000, 1'000'000}) {
    for (const int64_t steps : {1, 4, 40}) {
      CallSampling sampling;
      Sample(sampling, CallSampling::kAll, nanoseconds, steps);
      const int64_t calls = 1 << 16;
      const Sampled sampled = Sample(sampling, calls, nanoseconds, steps);
      const int64_t cost = sampled.timed * steps * CallSampling::kStepNs;
      const int64_t most = calls * nanoseconds / CallSampling::kShare;
      EXPECT_TRUE(cost <= most * 1.05 || sampled.timed <= calls / CallSampling::kMost + 1)
          << nanoseconds << " ns, " << steps << " steps: " << sampled.timed;
      EXPECT_NEAR(sampled.stands_for, calls, CallSampling::kMost);
      EXPECT_LE(sampled.timed, calls / CallSampling::kFewest + 1);
    }
  }
}

TEST(CallSampling, CountsAll) {
  CallSampling sampling;
  const Sampled sampled = Sample(sampling, 1000, 100'000, 1);
  EXPECT_EQ(sampling.num_calls(), 1000);
  EXPECT_EQ(sampling.num_timed(), sampled.timed);
}

}  // namespace
}  // namespace tektite::runtime
