#include "jit/serving/contest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace tektite::serving {
namespace {

using Side = Contest::Side;

int64_t now = 0;

int64_t FakeClock() { return now; }

// Makes calls whose sides take the times that are set here.
class Calls {
 public:
  explicit Calls(std::vector<Verdict> earlier = {}) : contest(&FakeClock, std::move(earlier)) {}

  double compiled = 100, host = 100;
  std::function<double()> noise = [] { return 1.0; };
  uint64_t generation = 0;
  uint64_t artifact = 0;
  Contest contest;
  int64_t compiled_calls = 0, host_calls = 0, demoted_calls = 0;

  Side Make(uint64_t shape_class = 1, double work = 1) {
    Contest::Turn turn = contest.Begin(shape_class, work, generation);
    turn.artifact = turn.side == Side::kCompiled ? artifact : 0;
    now += static_cast<int64_t>((turn.side == Side::kCompiled ? compiled : host) * noise() * work);
    contest.End(turn);
    ++(turn.side == Side::kCompiled ? compiled_calls : host_calls);
    demoted_calls += turn.is_demoted ? 1 : 0;
    return turn.side;
  }
  void Make(int count, uint64_t shape_class, double work = 1) {
    for (int i = 0; i < count; ++i) Make(shape_class, work);
  }
};

TEST(Contest, AClearWinnerTakesAHandfulOfTheHostsCalls) {
  Calls calls;
  calls.compiled = 50;
  calls.Make(200, 1);
  EXPECT_LE(calls.host_calls, 1 + 3 * Contest::kRunOfCalls);
  EXPECT_EQ(calls.contest.Summary().compiled, 1);
}

TEST(Contest, AClearLoserIsDemoted) {
  Calls calls;
  calls.compiled = 200;
  calls.Make(200, 1);
  EXPECT_LE(calls.compiled_calls, Contest::kWarmRuns + 3 * Contest::kRunOfCalls);
  EXPECT_GT(calls.demoted_calls, 150);
  const Contest::Report report = calls.contest.Summary();
  EXPECT_EQ(report.host, 1);
  EXPECT_DOUBLE_EQ(report.worst_ratio, 2.0);
}

// Until the verdict, and for each of the calls that are measured, a caller that cannot run the
// host's kernels has to stand back.
TEST(Contest, ACallerWithoutTheHostsKernelsIsServedWhereCompiledCodeRunsUnmeasured) {
  for (const double compiled : {50.0, 98.0, 200.0}) {
    Calls calls;
    calls.compiled = compiled;
    int won = 0;
    for (int i = 0; i < 3000; ++i) {
      if (const auto turn = calls.contest.BeginIfWon(1, 1)) {
        ++won;
        EXPECT_EQ(turn->side, Side::kCompiled);
        EXPECT_FALSE(turn->is_measured);
        calls.contest.End(*turn);
        continue;
      }
      const Contest::Turn turn = calls.contest.Begin(1, 1, 0);
      EXPECT_TRUE(i < 10 || turn.is_measured || turn.is_demoted) << "a call that could be served";
      now += static_cast<int64_t>(turn.side == Side::kCompiled ? calls.compiled : calls.host);
      calls.contest.End(turn);
    }
    if (compiled > 100) {
      EXPECT_EQ(won, 0);
    } else {
      EXPECT_GT(won, 2900);
      EXPECT_LT(won, 3000);
    }
  }
}

// Asked in two questions, one of which was answered yes before another thread's call made a spot
// check due, such a caller got a turn of the host's and dereferenced a null pointer.
TEST(Contest, ACallerWithoutTheHostsKernelsNeverGetsTheirTurn) {
  std::atomic<int> wrong{0};
  for (int round = 0; round < 200; ++round) {
    // The first check falls due at call 100, and 12, 36, ... calls later.
    Contest contest([]() -> int64_t { return 0; }, {{1, true, 0.9, 0}});
    std::atomic<int> begun{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        ++begun;
        while (begun < 8) std::this_thread::yield();
        for (int i = 0; i < 400; ++i) {
          if (t % 2 == 0) {
            contest.End(contest.Begin(1, 1, 0));
          } else if (const auto turn = contest.BeginIfWon(1, 1)) {
            wrong += turn->side != Side::kCompiled || turn->is_measured ? 1 : 0;
            contest.End(*turn);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

// Each call of a trial that ended after the verdict was judged for itself, and each judgement
// doubled the calls until the next trial: two hundred threads put it off for a million calls.
TEST(Contest, CallsThatEndAfterTheVerdictDoNotJudgeAgain) {
  Calls calls;
  calls.compiled = 200;
  calls.Make(Contest::kWarmRuns + 1, 1);
  std::vector<Contest::Turn> turns;
  for (int i = 0; i < 200; ++i) turns.push_back(calls.contest.Begin(1, 1, 0));
  now += 1000;
  for (Contest::Turn& turn : turns) {
    turn.began = now - (turn.side == Side::kHost ? 100 : 200);
    calls.contest.End(turn);
  }
  ASSERT_EQ(calls.contest.Summary().host, 1);
  calls.compiled = 50;
  calls.Make(static_cast<int>(2 * Contest::kFirstRetry), 1);
  EXPECT_EQ(calls.contest.Summary().compiled, 1);
}

// The same of a winner: what was left of its trial was taken for spot checks.
TEST(Contest, CallsThatEndAfterAVictoryAreNoSpotChecks) {
  Calls calls;
  calls.compiled = 50;
  calls.Make(Contest::kWarmRuns + 1, 1);
  std::vector<Contest::Turn> turns;
  for (int i = 0; i < 200; ++i) turns.push_back(calls.contest.Begin(1, 1, 0));
  now += 50;
  for (const Contest::Turn& turn : turns) {
    if (turn.side == Side::kCompiled) calls.contest.End(turn);
  }
  now += 50;
  for (int i = 0; i < 100; ++i) {
    if (turns[i].side == Side::kHost) calls.contest.End(turns[i]);
  }
  ASSERT_EQ(calls.contest.Summary().compiled, 1);
  const auto more = calls.contest.BeginIfWon(1, 1);
  ASSERT_TRUE(more.has_value());
  // These took long for another reason.
  std::vector<Contest::Turn> late(turns.begin() + 100, turns.end());
  for (Contest::Turn& turn : late) {
    turn.began = turn.side == Side::kHost ? now - 1 : now - 1000;
    calls.contest.End(turn);
  }
  EXPECT_TRUE(calls.contest.BeginIfWon(1, 1).has_value());
  EXPECT_EQ(calls.contest.Summary().compiled, 1);
}

// All calls of the host's that begin before the first has ended wait for its kernels.
TEST(Contest, TheHostsFirstCallsAreNotHeldAgainstItWhereTheyOverlap) {
  Calls calls;
  calls.compiled = 120;
  calls.Make(Contest::kWarmRuns, 1);
  std::vector<Contest::Turn> turns;
  for (int i = 0; i < 20; ++i) turns.push_back(calls.contest.Begin(1, 1, 0));
  now += 120;
  for (const Contest::Turn& turn : turns) {
    if (turn.side == Side::kCompiled) calls.contest.End(turn);
  }
  now += 1'000'000;
  for (const Contest::Turn& turn : turns) {
    if (turn.side == Side::kHost) calls.contest.End(turn);
  }
  EXPECT_EQ(calls.contest.Summary().open, 1);
  calls.Make(300, 1);
  EXPECT_EQ(calls.contest.Summary().host, 1);
}

// A thread that had seen the trial, and waited while another ended it, began the next one at once.
TEST(Contest, AThreadThatWaitsForTheVerdictDoesNotAskForAnother) {
  constexpr int kThreads = 8, kCalls = 60;  // fewer than kFirstRetry together
  int most_trials = 0;
  for (int round = 0; round < 200; ++round) {
    thread_local int64_t my_time = 0;
    Contest contest([]() -> int64_t { return my_time; });
    std::atomic<int> measured{0}, begun{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        ++begun;
        while (begun < kThreads) std::this_thread::yield();
        for (int i = 0; i < kCalls; ++i) {
          const Contest::Turn turn = contest.Begin(1, 1, 0);
          measured += turn.is_measured ? 1 : 0;
          my_time += turn.side == Side::kCompiled ? 300 : 100;
          contest.End(turn);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    most_trials = std::max(most_trials, measured.load());
  }
  // Three samples of either side, with the first of the host's and one more of each other thread.
  EXPECT_LE(most_trials, 2 * 3 * Contest::kRunOfCalls + 2 * Contest::kRunOfCalls + 2 * kThreads);
}

// Two threads whose view of the code's generation crosses are no news of it.
TEST(Contest, AnOlderGenerationIsNoNewCode) {
  Calls calls;
  calls.compiled = 200;
  calls.generation = 2;
  calls.Make(100, 1);
  ASSERT_EQ(calls.contest.Summary().host, 1);
  const int64_t trial = calls.compiled_calls;
  for (int i = 0; i < 100; ++i) {
    calls.generation = 1 + i % 2;
    calls.Make();
  }
  EXPECT_EQ(calls.compiled_calls, trial);
}

TEST(Contest, WhatIsPostponedIsMeasuredLater) {
  // A check of what an earlier process found out, and the trial of a class that is new.
  for (const bool is_recalled : {true, false}) {
    Calls calls(is_recalled ? std::vector<Verdict>{{1, true, 0.9, 0}} : std::vector<Verdict>{});
    int postponed = 0, call = 0;
    for (; call < 1000; ++call) {
      Contest::Turn turn = calls.contest.Begin(1, 1, 0);
      if (turn.side == Side::kHost) {
        ASSERT_TRUE(turn.is_measured);
        if (postponed == 3) break;
        ++postponed;
        Contest::Postpone(&turn);
        EXPECT_TRUE(turn.side == Side::kCompiled && !turn.is_measured);
      }
      calls.contest.End(turn);
    }
    EXPECT_EQ(postponed, 3);
    EXPECT_EQ(call, is_recalled ? 99 + 3 * 12 : 3 + 3) << "calls before the one that is measured";
  }
}

TEST(Contest, FourPercentIsALossAndTwoAreNone) {
  for (const double compiled : {104.0, 102.0}) {
    Calls calls;
    calls.compiled = compiled;
    calls.Make(200, 1);
    EXPECT_EQ(calls.contest.Summary().host, compiled == 104.0 ? 1 : 0) << compiled;
  }
}

TEST(Contest, WhatTheHostsCallsTakeBesideCounts) {
  for (const double extra : {0.0, 3000.0}) {
    Contest contest(&FakeClock);
    for (int i = 0; i < 200; ++i) {
      const Contest::Turn turn = contest.Begin(1, /*work=*/50, 0, extra);
      now += turn.side == Side::kHost ? 10000 : 12000;
      contest.End(turn);
    }
    EXPECT_EQ(contest.Summary().compiled, extra > 0 ? 1 : 0);
    EXPECT_EQ(contest.Summary().host, extra > 0 ? 0 : 1);
  }
}

TEST(Contest, FewDisturbedCallsDoNotDecide) {
  Calls calls;
  calls.compiled = 80;
  int call = 0;
  calls.noise = [&] {
    return ++call % 4 == 0 ? 9.0 : 1.0;
  };  // every other compiled call of a trial
  calls.Make(300, 1);
  EXPECT_EQ(calls.contest.Summary().compiled, 1);
}

// Something else, such as the compilation of other code, may slow the host's kernels down for
// longer than the shortest trial takes.
TEST(Contest, AFewSlowCallsOfTheHostAreNoVictory) {
  Calls calls;
  calls.compiled = 120;
  while (calls.host_calls < 5) {
    calls.host = 144;
    calls.Make();
  }
  calls.host = 100;
  calls.Make(200, 1);
  EXPECT_EQ(calls.contest.Summary().host, 1);
}

TEST(Contest, ACloseVictoryIsLookedAtAgainSoon) {
  Calls calls;
  calls.compiled = 98;
  calls.Make(60, 1);
  ASSERT_EQ(calls.contest.Summary().compiled, 1);
  calls.compiled = 120;
  calls.Make(200, 1);
  EXPECT_EQ(calls.contest.Summary().host, 1);
}

TEST(Contest, TheHostsFirstCallIsNotHeldAgainstIt) {
  Calls calls;
  calls.compiled = 120;
  bool first = true;
  for (int i = 0; i < 300; ++i) {
    calls.noise = [&] { return 1.0; };
    const Contest::Turn turn = calls.contest.Begin(1, 1, 0);
    const bool is_host = turn.side == Side::kHost;
    now += is_host ? (first ? 1000000 : 100) : 120;
    if (is_host) first = false;
    calls.contest.End(turn);
  }
  EXPECT_EQ(calls.contest.Summary().host, 1);
}

// The first call after the other side's finds caches and threads as that has left them.
TEST(Contest, ASidesFirstCallAfterTheOthersDoesNotCount) {
  for (const double slower : {1.2, 0.8}) {
    Calls calls;
    Side last = Side::kCompiled;
    for (int i = 0; i < 300; ++i) {
      const Contest::Turn turn = calls.contest.Begin(1, 1, 0);
      const bool is_host = turn.side == Side::kHost;
      const bool is_first = turn.side != last;
      last = turn.side;
      now += static_cast<int64_t>(is_host ? (is_first ? 200 : 100) : 100 * slower);
      calls.contest.End(turn);
    }
    EXPECT_EQ(calls.contest.Summary().host, slower > 1 ? 1 : 0);
    EXPECT_EQ(calls.contest.Summary().compiled, slower > 1 ? 0 : 1);
  }
}

TEST(Contest, AWinnerThatBecomesSlowerIsFoundOut) {
  Calls calls;
  calls.compiled = 50;
  calls.Make(1000, 1);
  calls.compiled = 150;
  calls.Make(static_cast<int>(5 * Contest::kSpotCheckEvery), 1);
  EXPECT_EQ(calls.contest.Summary().host, 1);
}

TEST(Contest, AWinnersHostCallsAreTwoInAThousand) {
  Calls calls;
  calls.compiled = 50;
  calls.Make(100000, 1);
  EXPECT_LE(calls.host_calls, 210);
}

TEST(Contest, ALoserIsTriedAgainSoonWhenThereIsNewCode) {
  Calls calls;
  calls.compiled = 200;
  calls.Make(100, 1);
  ASSERT_EQ(calls.contest.Summary().host, 1);
  calls.compiled = 50;
  calls.generation = 1;
  calls.Make(20, 1);
  EXPECT_EQ(calls.contest.Summary().compiled, 1);
}

TEST(Contest, ALoserIsTriedAgainLaterAndLater) {
  Calls calls;
  calls.compiled = 200;
  calls.Make(100000, 1);
  // At 1, 3, 7, 15, 31, 63 thousand calls: seven trials of three samples each.
  EXPECT_LE(calls.compiled_calls, Contest::kWarmRuns + 7 * 3 * Contest::kRunOfCalls);
  calls.compiled = 50;
  calls.Make(100000, 1);
  EXPECT_EQ(calls.contest.Summary().compiled, 1);
}

TEST(Contest, ShapeClassesAreJudgedApart) {
  Calls calls;
  for (int i = 0; i < 300; ++i) {
    calls.compiled = 50;
    calls.Make(1, 1);
    calls.compiled = 200;
    calls.Make(1, 2);
  }
  const Contest::Report report = calls.contest.Summary();
  EXPECT_EQ(report.compiled, 1);
  EXPECT_EQ(report.host, 1);
}

TEST(Contest, SizesWithinAClassAreComparedByTheirWork) {
  Calls calls;
  calls.compiled = 90;
  // The host happens to get the small calls.
  for (int i = 0; i < 300; ++i) calls.Make(1, 1, i % 2 == 0 ? 1000 : 1400);
  EXPECT_EQ(calls.contest.Summary().compiled, 1);
}

// Requests of ever new shapes would otherwise be the host's for a good part.
TEST(Contest, OneTrialServesAllShapesOfAboutThatSize) {
  Calls calls;
  calls.artifact = 1;
  calls.compiled = 60;
  calls.Make(20, 1, 1000);
  const int64_t trial = calls.host_calls;
  for (uint64_t shape_class = 2; shape_class < 30; ++shape_class) calls.Make(10, shape_class, 1000);
  EXPECT_EQ(calls.host_calls, trial);
  calls.Make(20, 30, 1e6);
  EXPECT_GT(calls.host_calls, trial) << "a shape of quite another size has a trial of its own";
  const int64_t both = calls.host_calls;
  calls.artifact = 2;
  calls.Make(20, 31, 1000);
  EXPECT_GT(calls.host_calls, both) << "and so has other code";
}

// Classes whose calls come in turns are tried at the same time: the first result ends all trials.
TEST(Contest, TrialsThatGoOnAtOnceAreShared) {
  Calls calls;
  calls.artifact = 1;
  calls.compiled = 60;
  for (int i = 0; i < 20; ++i) {
    for (uint64_t shape_class = 1; shape_class <= 20; ++shape_class) {
      calls.Make(1, shape_class, 1000);
    }
  }
  EXPECT_EQ(calls.contest.Summary().compiled, 20);
  // One run each, which is enough, and then spot checks.
  EXPECT_LE(calls.host_calls, 1 + (20 + 20) * Contest::kRunOfCalls);
}

TEST(Contest, AShapeThatIsSlowerThanOthersIsFoundOutWithinTwoHundredCalls) {
  Calls calls;
  calls.artifact = 1;
  calls.compiled = 60;
  calls.Make(20, 1, 1000);
  calls.compiled = 200;
  calls.Make(200, 2, 1000);
  EXPECT_EQ(calls.contest.Summary().host, 1);
  EXPECT_EQ(calls.contest.Summary().compiled, 1);
  EXPECT_EQ(calls.contest.Begin(2, 1000, 0).side, Side::kHost);
}

TEST(Contest, ALossSpeaksForOthersUntilTheyAreTried) {
  Calls calls;
  calls.artifact = 1;
  calls.compiled = 200;
  calls.Make(20, 1, 1000);
  const int64_t trial = calls.compiled_calls;
  calls.Make(20, 2, 1000);
  EXPECT_EQ(calls.compiled_calls, trial + 1);
  calls.compiled = 50;
  calls.Make(100, 2, 1000);
  EXPECT_EQ(calls.contest.Summary().compiled, 1);
}

TEST(Contest, ACloseResultSpeaksForNobody) {
  Calls calls;
  calls.artifact = 1;
  calls.compiled = 100;
  calls.Make(100, 1, 1000);
  const int64_t trial = calls.host_calls;
  calls.Make(100, 2, 1000);
  EXPECT_EQ(calls.host_calls, 2 * trial - 1) << "one call made the host's kernels";
}

TEST(Contest, NewCodeOfAWinnerIsLookedAt) {
  Calls calls;
  calls.artifact = 1;
  calls.compiled = 60;
  calls.Make(50, 1, 1000);
  calls.artifact = 2;
  calls.compiled = 150;
  calls.Make(200, 1, 1000);
  EXPECT_EQ(calls.contest.Summary().host, 1);
}

TEST(Contest, MoreClassesThanThereIsRoomForShare) {
  Calls calls;
  calls.compiled = 50;
  for (uint64_t key = 0; key < 1000; ++key) calls.Make(10, key * 977);
  const Contest::Report report = calls.contest.Summary();
  EXPECT_LE(report.compiled + report.host + report.open, 64);
}

TEST(Contest, ACallThatFailsCountsForNothing) {
  Calls calls;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(calls.contest.Begin(1, 1, 0).side, Side::kCompiled);  // never ends
  }
  EXPECT_EQ(calls.contest.Summary().open, 1);
}

TEST(Contest, ThreadsMayRace) {
  Contest contest([]() -> int64_t { return 0; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&contest] {
      for (uint64_t i = 0; i < 5000; ++i) contest.End(contest.Begin(i % 100, 1, i / 1000));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Contest::Report report = contest.Summary();
  EXPECT_GT(report.compiled + report.host + report.open, 0);
}

constexpr int64_t kToday = 1'795'000'000;

// What a process of these times finds out and leaves.
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

TEST(ShapeClass, NeighboursShareAndOctavesDoNot) {
  const auto of = [](int64_t size) { return AddToShapeClass(17, size); };
  EXPECT_EQ(of(128), of(150));
  EXPECT_NE(of(128), of(200));
  EXPECT_NE(of(128), of(256));
  std::set<uint64_t> small;
  for (int64_t size = 0; size < 8; ++size) small.insert(of(size));
  EXPECT_EQ(small.size(), 8u);
  EXPECT_NE(AddToShapeClass(of(2), 3), AddToShapeClass(of(3), 2));
}

}  // namespace
}  // namespace tektite::serving
