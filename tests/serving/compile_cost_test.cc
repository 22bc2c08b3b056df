#include "jit/serving/compile_cost.h"

#include "gtest/gtest.h"

namespace tektite::serving {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(EstimateCompileNs, GrowsWithTheOps) {
  EXPECT_EQ(EstimateCompileNs(0), 0);
  EXPECT_EQ(EstimateCompileNs(3), 6 * kMs);
  for (int64_t n = 1; n < 5000; ++n) EXPECT_GT(EstimateCompileNs(n), EstimateCompileNs(n - 1)) << n;
}

// Two milliseconds for every op kept a transformer's training step waiting for four times as long.
TEST(EstimateCompileNs, IsNearWhatWasMeasured) {
  struct Step {
    int64_t ops, ms;
  };
  for (const Step step : {Step{172, 380}, {529, 650}, {968, 920}, {1284, 1430}, {2583, 1380}}) {
    EXPECT_LT(EstimateCompileNs(step.ops), 3 * step.ms * kMs / 2) << step.ops;
    EXPECT_GT(EstimateCompileNs(step.ops), step.ms * kMs / 2) << step.ops;
  }
}

TEST(PartToWaitFor, IsAQuarterOnOneCpu) {
  EXPECT_EQ(PartToWaitFor(100, 1), 0.25);
  EXPECT_EQ(PartToWaitFor(100, 2), 1);
  EXPECT_EQ(PartToWaitFor(25, 8), 0.25);
}

}  // namespace
}  // namespace tektite::serving
