// One shape, one thread, one process.
#include <gtest/gtest.h>

#include <vector>

#include "jit/serving/comparison_samples.h"
#include "tests/serving/comparison_calls.h"

namespace tektite::serving {
namespace {

using Side = Comparison::Side;

TEST(Comparison, AClearWinnerTakesAHandfulOfTheHostsCalls) {
  Calls calls;
  calls.compiled = 50;
  calls.Make(200, 1);
  EXPECT_LE(calls.host_calls, 1 + 3 * kRunOfCalls);
  EXPECT_EQ(calls.comparison.Summary().compiled, 1);
}

TEST(Comparison, AClearLoserIsDemoted) {
  Calls calls;
  calls.compiled = 200;
  calls.Make(200, 1);
  EXPECT_LE(calls.compiled_calls, Comparison::kWarmRuns + 3 * kRunOfCalls);
  EXPECT_GT(calls.demoted_calls, 150);
  const Comparison::Report report = calls.comparison.Summary();
  EXPECT_EQ(report.host, 1);
  EXPECT_DOUBLE_EQ(report.worst_ratio, 2.0);
}

// Until the decision, and for each of the calls that are measured, a caller that cannot run the
// host's kernels has to stand back.
TEST(Comparison, ACallerWithoutTheHostsKernelsIsServedWhereCompiledCodeRunsUnmeasured) {
  for (const double compiled : {50.0, 98.0, 200.0}) {
    Calls calls;
    calls.compiled = compiled;
    int won = 0;
    for (int i = 0; i < 3000; ++i) {
      if (const auto turn = calls.comparison.BeginIfWon(1, 1)) {
        ++won;
        EXPECT_EQ(turn->side, Side::kCompiled);
        EXPECT_FALSE(turn->is_measured);
        calls.comparison.End(*turn);
        continue;
      }
      const Comparison::Turn turn = calls.comparison.Begin(1, 1, 0);
      EXPECT_TRUE(i < 10 || turn.is_measured || turn.is_demoted) << "a call that could be served";
      now += static_cast<int64_t>(turn.side == Side::kCompiled ? calls.compiled : calls.host);
      calls.comparison.End(turn);
    }
    if (compiled > 100) {
      EXPECT_EQ(won, 0);
    } else {
      EXPECT_GT(won, 2900);
      EXPECT_LT(won, 3000);
    }
  }
}

TEST(Comparison, WhatIsPostponedIsMeasuredLater) {
  // A check of what an earlier process found out, and the comparison of a class that is new.
  for (const bool is_recalled : {true, false}) {
    Calls calls(is_recalled ? std::vector<Decision>{{1, true, 0.9, 0}} : std::vector<Decision>{});
    int postponed = 0, call = 0;
    for (; call < 1000; ++call) {
      Comparison::Turn turn = calls.comparison.Begin(1, 1, 0);
      if (turn.side == Side::kHost) {
        ASSERT_TRUE(turn.is_measured);
        if (postponed == 3) break;
        ++postponed;
        Comparison::Postpone(&turn);
        EXPECT_TRUE(turn.side == Side::kCompiled && !turn.is_measured);
      }
      calls.comparison.End(turn);
    }
    EXPECT_EQ(postponed, 3);
    EXPECT_EQ(call, is_recalled ? 99 + 3 * 12 : 3 + 3) << "calls before the one that is measured";
  }
}

TEST(Comparison, FourPercentIsALossAndTwoAreNone) {
  for (const double compiled : {104.0, 102.0}) {
    Calls calls;
    calls.compiled = compiled;
    calls.Make(200, 1);
    EXPECT_EQ(calls.comparison.Summary().host, compiled == 104.0 ? 1 : 0) << compiled;
  }
}

TEST(Comparison, WhatTheHostsCallsTakeBesideCounts) {
  for (const double extra : {0.0, 3000.0}) {
    Comparison comparison(&FakeClock);
    for (int i = 0; i < 200; ++i) {
      const Comparison::Turn turn = comparison.Begin(1, /*work=*/50, 0, extra);
      now += turn.side == Side::kHost ? 10000 : 12000;
      comparison.End(turn);
    }
    EXPECT_EQ(comparison.Summary().compiled, extra > 0 ? 1 : 0);
    EXPECT_EQ(comparison.Summary().host, extra > 0 ? 0 : 1);
  }
}

TEST(Comparison, FewDisturbedCallsDoNotDecide) {
  Calls calls;
  calls.compiled = 80;
  int call = 0;
  calls.noise = [&] {
    return ++call % 4 == 0 ? 9.0 : 1.0;
  };  // every other compiled call of a comparison
  calls.Make(300, 1);
  EXPECT_EQ(calls.comparison.Summary().compiled, 1);
}

// Something else, such as the compilation of other code, may slow the host's kernels down for
// longer than the shortest comparison takes.
TEST(Comparison, AFewSlowCallsOfTheHostAreNoVictory) {
  Calls calls;
  calls.compiled = 120;
  while (calls.host_calls < 5) {
    calls.host = 144;
    calls.Make();
  }
  calls.host = 100;
  calls.Make(200, 1);
  EXPECT_EQ(calls.comparison.Summary().host, 1);
}

TEST(Comparison, ACloseVictoryIsLookedAtAgainSoon) {
  Calls calls;
  calls.compiled = 98;
  calls.Make(60, 1);
  ASSERT_EQ(calls.comparison.Summary().compiled, 1);
  calls.compiled = 120;
  calls.Make(200, 1);
  EXPECT_EQ(calls.comparison.Summary().host, 1);
}

TEST(Comparison, TheHostsFirstCallIsNotHeldAgainstIt) {
  Calls calls;
  calls.compiled = 120;
  bool first = true;
  for (int i = 0; i < 300; ++i) {
    calls.noise = [&] { return 1.0; };
    const Comparison::Turn turn = calls.comparison.Begin(1, 1, 0);
    const bool is_host = turn.side == Side::kHost;
    now += is_host ? (first ? 1000000 : 100) : 120;
    if (is_host) first = false;
    calls.comparison.End(turn);
  }
  EXPECT_EQ(calls.comparison.Summary().host, 1);
}

// It ran while code was missing, which is no turn: one more call of seconds found nothing out.
TEST(Comparison, KernelsThatRanBeforeAreNotMadeInATurn) {
  for (const bool has_run : {false, true}) {
    Calls calls;
    calls.compiled = 50;
    calls.host = 200;
    if (has_run) calls.comparison.KnowHostHasRun();
    calls.Make(50, 1);
    EXPECT_EQ(calls.comparison.Summary().compiled, 1);
    EXPECT_EQ(calls.host_calls, has_run ? 4 : 5);
  }
}

// The first call after the other side's finds caches and threads as that has left them.
TEST(Comparison, ASidesFirstCallAfterTheOthersDoesNotCount) {
  for (const double slower : {1.2, 0.8}) {
    Calls calls;
    Side last = Side::kCompiled;
    for (int i = 0; i < 300; ++i) {
      const Comparison::Turn turn = calls.comparison.Begin(1, 1, 0);
      const bool is_host = turn.side == Side::kHost;
      const bool is_first = turn.side != last;
      last = turn.side;
      now += static_cast<int64_t>(is_host ? (is_first ? 200 : 100) : 100 * slower);
      calls.comparison.End(turn);
    }
    EXPECT_EQ(calls.comparison.Summary().host, slower > 1 ? 1 : 0);
    EXPECT_EQ(calls.comparison.Summary().compiled, slower > 1 ? 0 : 1);
  }
}

TEST(Comparison, AWinnerThatBecomesSlowerIsFoundOut) {
  Calls calls;
  calls.compiled = 50;
  calls.Make(1000, 1);
  calls.compiled = 150;
  calls.Make(static_cast<int>(5 * Comparison::kSpotCheckEvery), 1);
  EXPECT_EQ(calls.comparison.Summary().host, 1);
}

TEST(Comparison, AWinnersHostCallsAreTwoInAThousand) {
  Calls calls;
  calls.compiled = 50;
  calls.Make(100000, 1);
  EXPECT_LE(calls.host_calls, 210);
}

// A training step of which stock TensorFlow takes 23 s waited for four of those in its first epoch.
TEST(Comparison, OneLongCallOfTheHostsIsEnoughWhereItIsFarBehind) {
  Calls calls;
  calls.compiled = 300e6;
  calls.host = 23e9;
  for (int i = 0; i < Comparison::kWarmRuns; ++i) EXPECT_EQ(calls.Make(), Side::kCompiled);
  calls.Make();  // makes the host's kernels
  calls.Make(500, 1);
  EXPECT_EQ(calls.comparison.Summary().compiled, 1);
  EXPECT_EQ(calls.host_calls, 2);
}

TEST(Comparison, OneCallOfTheHostsIsNotEnoughWhereItIsShortOrNear) {
  for (const auto& [compiled, host] : {std::pair(1e6, 100e6), std::pair(50e6, 300e6)}) {
    Calls calls;
    calls.compiled = compiled;
    calls.host = host;
    calls.Make(100, 1);
    EXPECT_EQ(calls.comparison.Summary().compiled, 1);
    EXPECT_GE(calls.host_calls, 2 * kRunOfCalls);
  }
}

// Two in a thousand would be a fifth of the time.
TEST(Comparison, AWinnersHostCallsAreRarerWhereTheyAreSlow) {
  Calls calls;
  calls.compiled = 10;
  calls.host = 1000;
  calls.Make(100, 1);
  const int64_t before = calls.host_calls;
  calls.Make(100000, 1);
  EXPECT_EQ(calls.comparison.Summary().compiled, 1);
  EXPECT_GT(calls.host_calls, before);
  EXPECT_LE(calls.host_calls - before, 8);
}

TEST(Comparison, ALoserIsTriedAgainSoonWhenThereIsNewCode) {
  Calls calls;
  calls.compiled = 200;
  calls.Make(100, 1);
  ASSERT_EQ(calls.comparison.Summary().host, 1);
  calls.compiled = 50;
  calls.generation = 1;
  calls.Make(20, 1);
  EXPECT_EQ(calls.comparison.Summary().compiled, 1);
}

TEST(Comparison, ALoserIsTriedAgainLaterAndLater) {
  Calls calls;
  calls.compiled = 200;
  calls.Make(100000, 1);
  // At 1, 3, 7, 15, 31, 63 thousand calls: seven comparisons of three samples each.
  EXPECT_LE(calls.compiled_calls, Comparison::kWarmRuns + 7 * 3 * kRunOfCalls);
  calls.compiled = 50;
  calls.Make(100000, 1);
  EXPECT_EQ(calls.comparison.Summary().compiled, 1);
}

TEST(Comparison, ACallThatFailsCountsForNothing) {
  Calls calls;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(calls.comparison.Begin(1, 1, 0).side, Side::kCompiled);  // never ends
  }
  EXPECT_EQ(calls.comparison.Summary().open, 1);
}

}  // namespace
}  // namespace tektite::serving
