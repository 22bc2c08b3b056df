#include "jit/serving/precedents.h"

#include <gtest/gtest.h>

namespace tektite::serving {
namespace {

TEST(Precedents, CountForTheirOctaveAndItsNeighbours) {
  Precedents precedents;
  precedents.Add(1, 1024, 0.5);
  for (const double work : {512.0, 1024.0, 2047.0, 4095.0}) {
    const auto found = precedents.Find(1, work);
    ASSERT_TRUE(found) << work;
    EXPECT_EQ(found->best, 0.5);
    EXPECT_EQ(found->worst, 0.5);
  }
  EXPECT_FALSE(precedents.Find(1, 511));
  EXPECT_FALSE(precedents.Find(1, 4096));
  EXPECT_FALSE(precedents.Find(2, 1024)) << "another artifact";
}

TEST(Precedents, CountForWhatLiesBetween) {
  Precedents precedents;
  precedents.Add(1, 16, 0.5);
  precedents.Add(1, 1 << 20, 0.7);
  const auto found = precedents.Find(1, 1000);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->best, 0.5);
  EXPECT_EQ(found->worst, 0.7);
}

TEST(Precedents, TheLatestCounts) {
  Precedents precedents;
  precedents.Add(1, 16, 0.5);
  precedents.Add(1, 17, 1.5);
  EXPECT_EQ(precedents.Find(1, 18)->best, 1.5);
}

TEST(Precedents, ThreePairsOfCallsCountUntilATrialHasEnded) {
  Precedents precedents;
  precedents.AddPair(1, 16, 0.5);
  precedents.AddPair(1, 16, 0.7);
  EXPECT_FALSE(precedents.Find(1, 16));
  precedents.AddPair(1, 17, 0.6);
  ASSERT_TRUE(precedents.Find(1, 16));
  EXPECT_EQ(precedents.Find(1, 16)->best, 0.5);
  EXPECT_EQ(precedents.Find(1, 16)->worst, 0.7);
  precedents.AddPair(1, 16, 9);
  EXPECT_EQ(precedents.Find(1, 16)->worst, 0.7);
  precedents.Add(1, 16, 0.8);
  EXPECT_EQ(precedents.Find(1, 16)->best, 0.8);
}

TEST(Precedents, ForgetTheOldestArtifact) {
  Precedents precedents;
  for (uint64_t artifact = 1; artifact <= 100; ++artifact) precedents.Add(artifact, 16, 0.5);
  EXPECT_FALSE(precedents.Find(1, 16));
  EXPECT_TRUE(precedents.Find(100, 16));
}

}  // namespace
}  // namespace tektite::serving
