// A later process's use of the verdicts of an earlier one.
#include <gtest/gtest.h>

#include <vector>

#include "tests/serving/contest_calls.h"

namespace tektite::serving {
namespace {

constexpr int64_t kToday = 1'795'000'000;

// The verdicts that a process with these times leaves.
std::vector<Verdict> FoundOut(double compiled, uint64_t shape_class = 1) {
  Calls calls;
  calls.compiled = compiled;
  calls.Make(200, shape_class);
  EXPECT_TRUE(calls.contest.HasNews());
  EXPECT_FALSE(calls.contest.HasNews());
  const std::vector<Verdict> verdicts = calls.contest.Verdicts(kToday);
  return ReadVerdicts(WriteVerdicts(verdicts), kToday);
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
  EXPECT_LE(calls.host_calls, 1 + 7 * Contest::kRunOfCalls);
  EXPECT_GE(calls.host_calls, 3);
  EXPECT_EQ(calls.contest.Summary().compiled, 1);
}

TEST(Contest, ALaterProcessAsksTheHostForSpotChecksAlone) {
  ExpectFirstCheckAfter(Contest::kFirstCheckOfVerdict, 92);
}

TEST(Contest, OfCodeThatWasFarAheadALaterProcessAsksLater) {
  ExpectFirstCheckAfter(Contest::kSpotCheckEvery, 50);
}

TEST(Contest, AnEarlierVictoryThatIsNoneAnyMoreIsFoundOut) {
  Calls calls(FoundOut(92));
  calls.compiled = 150;
  calls.artifact = 1;
  calls.Make(220, 1);
  EXPECT_EQ(calls.contest.Summary().host, 1);
  EXPECT_TRUE(calls.contest.HasNews());
  EXPECT_FALSE(calls.contest.Verdicts(kToday + 1).at(0).compiled_won);
}

TEST(Contest, AnEarlierLoserDoesNotRunAtFirst) {
  Calls calls(FoundOut(200));
  calls.compiled = 200;
  calls.generation = 3;  // its code may be there: it is the code that lost
  calls.Make(static_cast<int>(Contest::kRetryOfVerdict) - 1, 1);
  EXPECT_EQ(calls.compiled_calls, 0);
  EXPECT_EQ(calls.demoted_calls, calls.host_calls);
  calls.Make(500, 1);
  EXPECT_LE(calls.compiled_calls, Contest::kWarmRuns + 3 * Contest::kRunOfCalls);
  EXPECT_FALSE(calls.contest.HasNews()) << "it is known already";
}

TEST(Contest, AnEarlierLossIsTriedAgain) {
  Calls calls(FoundOut(200));
  calls.compiled = 50;
  calls.Make(static_cast<int>(Contest::kRetryOfVerdict) + 20, 1);
  EXPECT_EQ(calls.contest.Summary().compiled, 1);
  EXPECT_TRUE(calls.contest.HasNews());
}

TEST(Contest, VerdictsAboutOtherClassesAreKeptAndNotUsed) {
  Calls calls(FoundOut(50, /*shape_class=*/5));
  calls.compiled = 200;
  calls.Make(50, 1);
  EXPECT_EQ(calls.contest.Summary().host, 1);
  const std::vector<Verdict> verdicts = calls.contest.Verdicts(kToday + 9);
  ASSERT_EQ(verdicts.size(), 2u);
  for (const Verdict& verdict : verdicts) {
    EXPECT_EQ(verdict.compiled_won, verdict.shape_class == 5);
    EXPECT_EQ(verdict.decided_s, kToday + (verdict.shape_class == 5 ? 0 : 9));
  }
}

// New sizes need no trial of their own in a later process either.
TEST(Contest, AnEarlierVictorySpeaksForShapesOfItsSize) {
  Calls calls(FoundOut(50));
  calls.compiled = 50;
  calls.artifact = 1;
  calls.Make(5, 1);
  for (uint64_t shape_class = 2; shape_class < 20; ++shape_class) calls.Make(10, shape_class);
  EXPECT_EQ(calls.host_calls, 0);
}

}  // namespace
}  // namespace tektite::serving
