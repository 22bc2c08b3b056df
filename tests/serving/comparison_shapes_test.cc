// Several classes of shapes, and what they learn from each other.
#include <gtest/gtest.h>

#include <set>

#include "jit/serving/comparison_samples.h"
#include "tests/serving/comparison_calls.h"

namespace tektite::serving {
namespace {

using Side = Comparison::Side;

TEST(Comparison, ShapeClassesAreComparedApart) {
  Calls calls;
  for (int i = 0; i < 300; ++i) {
    calls.compiled = 50;
    calls.Make(1, 1);
    calls.compiled = 200;
    calls.Make(1, 2);
  }
  const Comparison::Report report = calls.comparison.Summary();
  EXPECT_EQ(report.compiled, 1);
  EXPECT_EQ(report.host, 1);
}

TEST(Comparison, SizesWithinAClassAreComparedByTheirWork) {
  Calls calls;
  calls.compiled = 90;
  // The host happens to get the small calls.
  for (int i = 0; i < 300; ++i) calls.Make(1, 1, i % 2 == 0 ? 1000 : 1400);
  EXPECT_EQ(calls.comparison.Summary().compiled, 1);
}

// Requests of ever new shapes would otherwise be the host's for a good part.
TEST(Comparison, OneComparisonServesAllShapesOfAboutThatSize) {
  Calls calls;
  calls.artifact = 1;
  calls.compiled = 60;
  calls.Make(20, 1, 1000);
  const int64_t before = calls.host_calls;
  for (uint64_t shape_class = 2; shape_class < 30; ++shape_class) calls.Make(10, shape_class, 1000);
  EXPECT_EQ(calls.host_calls, before);
  calls.Make(20, 30, 1e6);
  EXPECT_GT(calls.host_calls, before)
      << "a shape of quite another size has a comparison of its own";
  const int64_t both = calls.host_calls;
  calls.artifact = 2;
  calls.Make(20, 31, 1000);
  EXPECT_GT(calls.host_calls, both) << "and so has other code";
}

// Classes whose calls come in turns are compared at the same time: the first result ends all
// comparisons.
TEST(Comparison, ComparisonsThatGoOnAtOnceAreShared) {
  Calls calls;
  calls.artifact = 1;
  calls.compiled = 60;
  for (int i = 0; i < 20; ++i) {
    for (uint64_t shape_class = 1; shape_class <= 20; ++shape_class) {
      calls.Make(1, shape_class, 1000);
    }
  }
  EXPECT_EQ(calls.comparison.Summary().compiled, 20);
  // One run each, which is enough, and then spot checks.
  EXPECT_LE(calls.host_calls, 1 + (20 + 20) * kRunOfCalls);
}

TEST(Comparison, AShapeThatIsSlowerThanOthersIsFoundOutWithinTwoHundredCalls) {
  Calls calls;
  calls.artifact = 1;
  calls.compiled = 60;
  calls.Make(20, 1, 1000);
  calls.compiled = 200;
  calls.Make(200, 2, 1000);
  EXPECT_EQ(calls.comparison.Summary().host, 1);
  EXPECT_EQ(calls.comparison.Summary().compiled, 1);
  EXPECT_EQ(calls.comparison.Begin(2, 1000, 0).side, Side::kHost);
}

TEST(Comparison, ALossSpeaksForOthersUntilTheyAreTried) {
  Calls calls;
  calls.artifact = 1;
  calls.compiled = 200;
  calls.Make(20, 1, 1000);
  const int64_t before = calls.compiled_calls;
  calls.Make(20, 2, 1000);
  EXPECT_EQ(calls.compiled_calls, before + 1);
  calls.compiled = 50;
  calls.Make(100, 2, 1000);
  EXPECT_EQ(calls.comparison.Summary().compiled, 1);
}

TEST(Comparison, ACloseResultSpeaksForNobody) {
  Calls calls;
  calls.artifact = 1;
  calls.compiled = 100;
  calls.Make(100, 1, 1000);
  const int64_t before = calls.host_calls;
  calls.Make(100, 2, 1000);
  EXPECT_EQ(calls.host_calls, 2 * before - 1) << "one call made the host's kernels";
}

TEST(Comparison, NewCodeOfAWinnerIsLookedAt) {
  Calls calls;
  calls.artifact = 1;
  calls.compiled = 60;
  calls.Make(50, 1, 1000);
  calls.artifact = 2;
  calls.compiled = 150;
  calls.Make(200, 1, 1000);
  EXPECT_EQ(calls.comparison.Summary().host, 1);
}

TEST(Comparison, MoreClassesThanThereIsRoomForShare) {
  Calls calls;
  calls.compiled = 50;
  for (uint64_t key = 0; key < 1000; ++key) calls.Make(10, key * 977);
  const Comparison::Report report = calls.comparison.Summary();
  EXPECT_LE(report.compiled + report.host + report.open, 64);
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
