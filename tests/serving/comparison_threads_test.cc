// Calls that overlap.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "jit/serving/comparison_samples.h"
#include "tests/serving/comparison_calls.h"

namespace tektite::serving {
namespace {

using Side = Comparison::Side;

// Asked in two questions, one of which was answered yes before another thread's call made a spot
// check due, such a caller got a turn of the host's and dereferenced a null pointer.
TEST(Comparison, ACallerWithoutTheHostsKernelsNeverGetsTheirTurn) {
  std::atomic<int> wrong{0};
  for (int round = 0; round < 200; ++round) {
    // The first check falls due at call 100, and 12, 36, ... calls later.
    Comparison comparison([]() -> int64_t { return 0; }, {{1, true, 0.9, 0}});
    std::atomic<int> begun{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        ++begun;
        while (begun < 8) std::this_thread::yield();
        for (int i = 0; i < 400; ++i) {
          if (t % 2 == 0) {
            comparison.End(comparison.Begin(1, 1, 0));
          } else if (const auto turn = comparison.BeginIfWon(1, 1)) {
            wrong += turn->side != Side::kCompiled || turn->is_measured ? 1 : 0;
            comparison.End(*turn);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

// Each call of a comparison that ended after the decision was decided for itself, and each decision
// doubled the calls until the next comparison: two hundred threads put it off for a million calls.
TEST(Comparison, CallsThatEndAfterTheDecisionDoNotDecideAgain) {
  Calls calls;
  calls.compiled = 200;
  calls.Make(Comparison::kWarmRuns + 1, 1);
  std::vector<Comparison::Turn> turns;
  for (int i = 0; i < 200; ++i) turns.push_back(calls.comparison.Begin(1, 1, 0));
  now += 1000;
  for (Comparison::Turn& turn : turns) {
    turn.began = now - (turn.side == Side::kHost ? 100 : 200);
    calls.comparison.End(turn);
  }
  ASSERT_EQ(calls.comparison.Summary().host, 1);
  calls.compiled = 50;
  calls.Make(static_cast<int>(2 * Comparison::kFirstRetry), 1);
  EXPECT_EQ(calls.comparison.Summary().compiled, 1);
}

// The same of a winner: what was left of its comparison was taken for spot checks.
TEST(Comparison, CallsThatEndAfterAVictoryAreNoSpotChecks) {
  Calls calls;
  calls.compiled = 50;
  calls.Make(Comparison::kWarmRuns + 1, 1);
  std::vector<Comparison::Turn> turns;
  for (int i = 0; i < 200; ++i) turns.push_back(calls.comparison.Begin(1, 1, 0));
  now += 50;
  for (const Comparison::Turn& turn : turns) {
    if (turn.side == Side::kCompiled) calls.comparison.End(turn);
  }
  now += 50;
  for (int i = 0; i < 100; ++i) {
    if (turns[i].side == Side::kHost) calls.comparison.End(turns[i]);
  }
  ASSERT_EQ(calls.comparison.Summary().compiled, 1);
  const auto more = calls.comparison.BeginIfWon(1, 1);
  ASSERT_TRUE(more.has_value());
  // These took long for another reason.
  std::vector<Comparison::Turn> late(turns.begin() + 100, turns.end());
  for (Comparison::Turn& turn : late) {
    turn.began = turn.side == Side::kHost ? now - 1 : now - 1000;
    calls.comparison.End(turn);
  }
  EXPECT_TRUE(calls.comparison.BeginIfWon(1, 1).has_value());
  EXPECT_EQ(calls.comparison.Summary().compiled, 1);
}

// All calls of the host's that begin before the first has ended wait for its kernels.
TEST(Comparison, TheHostsFirstCallsAreNotHeldAgainstItWhereTheyOverlap) {
  Calls calls;
  calls.compiled = 120;
  calls.Make(Comparison::kWarmRuns, 1);
  std::vector<Comparison::Turn> turns;
  for (int i = 0; i < 20; ++i) turns.push_back(calls.comparison.Begin(1, 1, 0));
  now += 120;
  for (const Comparison::Turn& turn : turns) {
    if (turn.side == Side::kCompiled) calls.comparison.End(turn);
  }
  now += 1'000'000;
  for (const Comparison::Turn& turn : turns) {
    if (turn.side == Side::kHost) calls.comparison.End(turn);
  }
  EXPECT_EQ(calls.comparison.Summary().open, 1);
  calls.Make(300, 1);
  EXPECT_EQ(calls.comparison.Summary().host, 1);
}

// A thread that had seen the comparison, and waited while another ended it, began the next one at
// once.
TEST(Comparison, AThreadThatWaitsForTheDecisionDoesNotAskForAnother) {
  constexpr int kThreads = 8, kCalls = 60;  // fewer than kFirstRetry together
  int most_measured = 0;
  for (int round = 0; round < 200; ++round) {
    thread_local int64_t my_time = 0;
    Comparison comparison([]() -> int64_t { return my_time; });
    std::atomic<int> measured{0}, begun{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        ++begun;
        while (begun < kThreads) std::this_thread::yield();
        for (int i = 0; i < kCalls; ++i) {
          const Comparison::Turn turn = comparison.Begin(1, 1, 0);
          measured += turn.is_measured ? 1 : 0;
          my_time += turn.side == Side::kCompiled ? 300 : 100;
          comparison.End(turn);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    most_measured = std::max(most_measured, measured.load());
  }
  // Three samples of either side, with the first of the host's and one more of each other thread.
  EXPECT_LE(most_measured, 2 * 3 * kRunOfCalls + 2 * kRunOfCalls + 2 * kThreads);
}

// Two threads whose view of the code's generation crosses are no news of it.
TEST(Comparison, AnOlderGenerationIsNoNewCode) {
  Calls calls;
  calls.compiled = 200;
  calls.generation = 2;
  calls.Make(100, 1);
  ASSERT_EQ(calls.comparison.Summary().host, 1);
  const int64_t before = calls.compiled_calls;
  for (int i = 0; i < 100; ++i) {
    calls.generation = 1 + i % 2;
    calls.Make();
  }
  EXPECT_EQ(calls.compiled_calls, before);
}

TEST(Comparison, ThreadsMayRace) {
  Comparison comparison([]() -> int64_t { return 0; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&comparison] {
      for (uint64_t i = 0; i < 5000; ++i) comparison.End(comparison.Begin(i % 100, 1, i / 1000));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Comparison::Report report = comparison.Summary();
  EXPECT_GT(report.compiled + report.host + report.open, 0);
}

}  // namespace
}  // namespace tektite::serving
