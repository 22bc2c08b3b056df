// Calls that overlap.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/serving/contest_calls.h"

namespace tektite::serving {
namespace {

using Side = Contest::Side;

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

}  // namespace
}  // namespace tektite::serving
