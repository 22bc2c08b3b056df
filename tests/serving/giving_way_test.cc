#include "jit/serving/giving_way.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tektite::serving {
namespace {

// How many of `calls` calls try compiled code, where it always fails.
int Tries(GivingWay* giving_way, int calls) {
  int tries = 0;
  for (int i = 0; i < calls; ++i) {
    if (giving_way->Skips()) continue;
    giving_way->Failed();
    ++tries;
  }
  return tries;
}

TEST(GivingWay, AfterAFewFailuresInARowHardlyAnyCallTries) {
  GivingWay giving_way;
  EXPECT_EQ(Tries(&giving_way, 3), 3);
  EXPECT_TRUE(giving_way.HasGivenWay());
  EXPECT_EQ(Tries(&giving_way, 64), 0);
  EXPECT_EQ(Tries(&giving_way, 1), 1);
  EXPECT_EQ(Tries(&giving_way, 128), 0);
  EXPECT_EQ(Tries(&giving_way, 1), 1);
  EXPECT_LE(Tries(&giving_way, 3'000'000), 16);
}

TEST(GivingWay, FailuresBetweenSuccessesDoNotCount) {
  GivingWay giving_way;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(Tries(&giving_way, 2), 2);
    EXPECT_FALSE(giving_way.Skips());
    giving_way.Succeeded();
  }
}

TEST(GivingWay, ASuccessEndsIt) {
  GivingWay giving_way;
  Tries(&giving_way, 3 + 64);
  EXPECT_FALSE(giving_way.Skips());
  giving_way.Succeeded();
  EXPECT_FALSE(giving_way.HasGivenWay());
  EXPECT_EQ(Tries(&giving_way, 3), 3);
}

TEST(GivingWay, ManyThreads) {
  GivingWay giving_way;
  std::atomic<int> tries{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { tries += Tries(&giving_way, 10'000); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(tries, 8 * 20);
  EXPECT_TRUE(giving_way.HasGivenWay());
}

}  // namespace
}  // namespace tektite::serving
