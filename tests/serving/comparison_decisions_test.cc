// A later process's use of the decisions of an earlier one.
#include <gtest/gtest.h>

#include <vector>

#include "jit/serving/comparison_samples.h"
#include "tests/serving/comparison_calls.h"

namespace tektite::serving {
namespace {

constexpr int64_t kToday = 1'795'000'000;

// The decisions that a process with these times leaves.
std::vector<Decision> FoundOut(double compiled, uint64_t shape_class = 1) {
  Calls calls;
  calls.compiled = compiled;
  calls.Make(200, shape_class);
  EXPECT_TRUE(calls.comparison.HasNews());
  EXPECT_FALSE(calls.comparison.HasNews());
  const std::vector<Decision> decisions = calls.comparison.Decisions(kToday);
  return ReadDecisions(WriteDecisions(decisions), kToday);
}

// Of a cluster whose code takes `compiled` where the host's kernels take 100.
void ExpectFirstCheckAfter(uint64_t number, double compiled) {
  Calls calls(FoundOut(compiled));
  calls.compiled = compiled;
  calls.artifact = 1;
  calls.Make(static_cast<int>(number) - 1, 1);
  EXPECT_EQ(calls.host_calls, 0);
  calls.Make(1, 1);
  EXPECT_EQ(calls.host_calls, 1);
  calls.Make(1000, 1);
  EXPECT_LE(calls.host_calls, 1 + 7 * kRunOfCalls);
  EXPECT_GE(calls.host_calls, 3);
  EXPECT_EQ(calls.comparison.Summary().compiled, 1);
}

TEST(Comparison, ALaterProcessAsksTheHostForSpotChecksAlone) {
  ExpectFirstCheckAfter(Comparison::kFirstCheckOfDecision, 92);
}

TEST(Comparison, OfCodeThatWasFarAheadALaterProcessAsksLater) {
  ExpectFirstCheckAfter(Comparison::kSpotCheckEvery, 50);
}

TEST(Comparison, AnEarlierVictoryThatIsNoneAnyMoreIsFoundOut) {
  Calls calls(FoundOut(92));
  calls.compiled = 150;
  calls.artifact = 1;
  calls.Make(220, 1);
  EXPECT_EQ(calls.comparison.Summary().host, 1);
  EXPECT_TRUE(calls.comparison.HasNews());
  EXPECT_FALSE(calls.comparison.Decisions(kToday + 1).at(0).compiled_won);
}

TEST(Comparison, AnEarlierLoserDoesNotRunAtFirst) {
  Calls calls(FoundOut(200));
  calls.compiled = 200;
  calls.generation = 3;  // its code may be there: it is the code that lost
  calls.Make(static_cast<int>(Comparison::kRetryOfDecision) - 1, 1);
  EXPECT_EQ(calls.compiled_calls, 0);
  EXPECT_EQ(calls.demoted_calls, calls.host_calls);
  calls.Make(500, 1);
  EXPECT_LE(calls.compiled_calls, Comparison::kWarmRuns + 3 * kRunOfCalls);
  EXPECT_FALSE(calls.comparison.HasNews()) << "it is known already";
}

TEST(Comparison, AnEarlierLossIsTriedAgain) {
  Calls calls(FoundOut(200));
  calls.compiled = 50;
  calls.Make(static_cast<int>(Comparison::kRetryOfDecision) + 20, 1);
  EXPECT_EQ(calls.comparison.Summary().compiled, 1);
  EXPECT_TRUE(calls.comparison.HasNews());
}

TEST(Comparison, DecisionsAboutOtherClassesAreKeptAndNotUsed) {
  Calls calls(FoundOut(50, /*shape_class=*/5));
  calls.compiled = 200;
  calls.Make(50, 1);
  EXPECT_EQ(calls.comparison.Summary().host, 1);
  const std::vector<Decision> decisions = calls.comparison.Decisions(kToday + 9);
  ASSERT_EQ(decisions.size(), 2u);
  for (const Decision& decision : decisions) {
    EXPECT_EQ(decision.compiled_won, decision.shape_class == 5);
    EXPECT_EQ(decision.decided_s, kToday + (decision.shape_class == 5 ? 0 : 9));
  }
}

// New sizes need no comparison of their own in a later process either.
TEST(Comparison, AnEarlierVictorySpeaksForShapesOfItsSize) {
  Calls calls(FoundOut(50));
  calls.compiled = 50;
  calls.artifact = 1;
  calls.Make(5, 1);
  for (uint64_t shape_class = 2; shape_class < 20; ++shape_class) calls.Make(10, shape_class);
  EXPECT_EQ(calls.host_calls, 0);
}

}  // namespace
}  // namespace tektite::serving
