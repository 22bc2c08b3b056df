#include "jit/serving/compile_cost.h"

#include "gtest/gtest.h"

namespace tektite::serving {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(EstimateCompileNs, GrowsWithTheOps) {
  EXPECT_EQ(EstimateCompileNs(0, 0), 0);
  EXPECT_EQ(EstimateCompileNs(3, 0), 6 * kMs);
  for (int64_t n = 1; n < 5000; ++n) {
    EXPECT_GT(EstimateCompileNs(n, 0), EstimateCompileNs(n - 1, 0)) << n;
  }
}

// Two milliseconds for every op kept a transformer's training step waiting for four times as long.
TEST(EstimateCompileNs, IsNearWhatWasMeasured) {
  struct Step {
    int64_t ops, ms;
  };
  for (const Step step : {Step{172, 380}, {529, 650}, {968, 920}, {1284, 1430}, {2583, 1380}}) {
    EXPECT_LT(EstimateCompileNs(step.ops, 0), 3 * step.ms * kMs / 2) << step.ops;
    EXPECT_GT(EstimateCompileNs(step.ops, 0), step.ms * kMs / 2) << step.ops;
  }
}

// Ops alone are 0.2 of the 0.67 to 1.70 s that a loop with six convolutions took, and its code was
// begun within calls that it could not shorten any more.
TEST(EstimateCompileNs, KnowsConvolutions) {
  EXPECT_GT(EstimateCompileNs(90, 6), 670 * kMs);
  EXPECT_LT(EstimateCompileNs(90, 6), 1700 * kMs);
  // MobileNetV2: 1.2 s.
  EXPECT_LT(EstimateCompileNs(170, 53), 1200 * kMs);
  EXPECT_EQ(EstimateCompileNs(1000, 100), EstimateCompileNs(1000, 200));
}

TEST(PartToWaitFor, IsAQuarterOnOneCpu) {
  EXPECT_EQ(PartToWaitFor(100, 1), 0.25);
  EXPECT_EQ(PartToWaitFor(100, 2), 1);
  EXPECT_EQ(PartToWaitFor(25, 8), 0.25);
}

}  // namespace
}  // namespace tektite::serving
