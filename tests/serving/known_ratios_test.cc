#include "jit/serving/known_ratios.h"

#include <gtest/gtest.h>

namespace tektite::serving {
namespace {

TEST(KnownRatios, CountForTheirOctaveAndItsNeighbours) {
  KnownRatios known_ratios;
  known_ratios.Add(1, 1024, 0.5);
  for (const double work : {512.0, 1024.0, 2047.0, 4095.0}) {
    const auto found = known_ratios.Find(1, work);
    ASSERT_TRUE(found) << work;
    EXPECT_EQ(found->best, 0.5);
    EXPECT_EQ(found->worst, 0.5);
  }
  EXPECT_FALSE(known_ratios.Find(1, 511));
  EXPECT_FALSE(known_ratios.Find(1, 4096));
  EXPECT_FALSE(known_ratios.Find(2, 1024)) << "another artifact";
}

TEST(KnownRatios, CountForWhatLiesBetween) {
  KnownRatios known_ratios;
  known_ratios.Add(1, 16, 0.5);
  known_ratios.Add(1, 1 << 20, 0.7);
  const auto found = known_ratios.Find(1, 1000);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->best, 0.5);
  EXPECT_EQ(found->worst, 0.7);
}

TEST(KnownRatios, TheLatestCounts) {
  KnownRatios known_ratios;
  known_ratios.Add(1, 16, 0.5);
  known_ratios.Add(1, 17, 1.5);
  EXPECT_EQ(known_ratios.Find(1, 18)->best, 1.5);
}

TEST(KnownRatios, ThreePairsOfCallsCountUntilAComparisonHasEnded) {
  KnownRatios known_ratios;
  known_ratios.AddPair(1, 16, 0.5);
  known_ratios.AddPair(1, 16, 0.7);
  EXPECT_FALSE(known_ratios.Find(1, 16));
  known_ratios.AddPair(1, 17, 0.6);
  ASSERT_TRUE(known_ratios.Find(1, 16));
  EXPECT_EQ(known_ratios.Find(1, 16)->best, 0.5);
  EXPECT_EQ(known_ratios.Find(1, 16)->worst, 0.7);
  known_ratios.AddPair(1, 16, 9);
  EXPECT_EQ(known_ratios.Find(1, 16)->worst, 0.7);
  known_ratios.Add(1, 16, 0.8);
  EXPECT_EQ(known_ratios.Find(1, 16)->best, 0.8);
}

TEST(KnownRatios, ForgetTheOldestArtifact) {
  KnownRatios known_ratios;
  for (uint64_t artifact = 1; artifact <= 100; ++artifact) known_ratios.Add(artifact, 16, 0.5);
  EXPECT_FALSE(known_ratios.Find(1, 16));
  EXPECT_TRUE(known_ratios.Find(100, 16));
}

}  // namespace
}  // namespace tektite::serving
