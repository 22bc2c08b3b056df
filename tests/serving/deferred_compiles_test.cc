#include "jit/serving/deferred_compiles.h"

#include <memory>
#include <vector>

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

// Those of 256 clusters that had gone kept all later ones from waiting.
TEST(DeferredCompiles, ThoseWhoseOwnersHaveGoneMakeRoom) {
  DeferredCompiles deferred;
  std::vector<int> codes(2 * DeferredCompiles::kMost + 1);
  const auto stays = std::make_shared<int>();
  int started = 0;
  for (size_t i = 0; i < DeferredCompiles::kMost; ++i) {
    EXPECT_TRUE(deferred.Add(&codes[i], std::make_shared<int>(), [&] { ++started; }));
  }
  for (size_t i = DeferredCompiles::kMost; i < 2 * DeferredCompiles::kMost; ++i) {
    EXPECT_TRUE(deferred.Add(&codes[i], stays, [&] { ++started; }));
  }
  EXPECT_FALSE(deferred.Add(&codes.back(), stays, [&] { ++started; }));
  EXPECT_EQ(deferred.Take(&codes[0]), nullptr);
  deferred.StartAll();
  EXPECT_EQ(started, static_cast<int>(DeferredCompiles::kMost));
}

}  // namespace
}  // namespace tektite::serving
