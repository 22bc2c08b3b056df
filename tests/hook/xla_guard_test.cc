#include "runtime_hooks/tensorflow/hook/run/xla_guard.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

namespace tektite::tf_hook {
namespace {

// How many of `calls` calls are watched, with finite results of `bytes`.
int Watched(XlaGuard* guard, int calls, int64_t bytes = 4) {
  int watched = 0;
  for (int i = 0; i < calls; ++i) {
    if (!guard->Watches()) continue;
    ++watched;
    guard->Watched(bytes);
  }
  return watched;
}

TEST(XlaGuard, WatchesTheFirstCallsAndSomeOfTheOthers) {
  XlaGuard guard(true);
  EXPECT_EQ(Watched(&guard, XlaGuard::kFirstCalls), XlaGuard::kFirstCalls);
  EXPECT_EQ(Watched(&guard, 10 * XlaGuard::kEvery), 10);
  EXPECT_FALSE(guard.LeavesToXla());
  XlaGuard large(true);
  constexpr int64_t kBytes = 64 << 20;
  EXPECT_EQ(Watched(&large, XlaGuard::kFirstCalls, kBytes), XlaGuard::kFirstBytes / kBytes);
  EXPECT_EQ(Watched(&large, 10 * 64 * XlaGuard::kEvery, kBytes), 10);
  XlaGuard off(false);
  EXPECT_EQ(Watched(&off, 100), 0);
  off.Suspect();
  EXPECT_FALSE(off.LeavesToXla());
}

// A training turned to NaN in compiled code, and went on with it, where XLA's numbers were finite.
TEST(XlaGuard, WhereXlaIsFiniteAllLaterCallsAreXlas) {
  XlaGuard guard(true);
  EXPECT_TRUE(guard.Watches());
  guard.Suspect();
  EXPECT_TRUE(guard.LeavesToXla());
  EXPECT_FALSE(guard.IsXlasForGood());
  guard.Examine(/*is_finite=*/true);
  EXPECT_TRUE(guard.LeavesToXla());
  EXPECT_TRUE(guard.IsXlasForGood());
  EXPECT_EQ(Watched(&guard, 100), 0);
  guard.Examine(/*is_finite=*/false);
  EXPECT_TRUE(guard.IsXlasForGood());
}

TEST(XlaGuard, WhereBothAgreeItGoesOnAndStopsInTheEnd) {
  XlaGuard guard(true);
  int compared = 0;
  for (int i = 0; i < 100; ++i) {
    if (!guard.Watches()) continue;
    guard.Suspect();
    ASSERT_TRUE(guard.LeavesToXla());
    guard.Examine(/*is_finite=*/false);
    ASSERT_FALSE(guard.LeavesToXla());
    ++compared;
  }
  EXPECT_EQ(compared, XlaGuard::kMostComparisons);
}

TEST(XlaGuard, SeesOneNumberThatIsNotFinite) {
  constexpr uint32_t kExponent = 0x7f800000;
  std::vector<uint32_t> bits(10'001);
  EXPECT_TRUE(AllFinite<uint32_t>(bits.data(), 0, kExponent));
  for (const float finite : {std::numeric_limits<float>::max(), -3e38F, 1e-45F, -0.0F}) {
    std::memcpy(&bits.back(), &finite, sizeof(finite));
    EXPECT_TRUE(AllFinite<uint32_t>(bits.data(), bits.size(), kExponent)) << finite;
  }
  for (const float other :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    for (const size_t place : {size_t{0}, size_t{4096}, bits.size() - 1}) {
      std::vector<uint32_t> with = bits;
      std::memcpy(&with[place], &other, sizeof(other));
      EXPECT_FALSE(AllFinite<uint32_t>(with.data(), with.size(), kExponent)) << other;
    }
  }
}

}  // namespace
}  // namespace tektite::tf_hook
