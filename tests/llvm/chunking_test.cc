#include "backends/cpu/emit/chunking.h"

#include <gtest/gtest.h>

#include <vector>

#include "backends/cpu/implementation_list.h"
#include "jit/ir/graph.h"

namespace tektite::cpu {
namespace {

using ir::Dim;

TEST(TeamTime, EachThreadTakesItsPartAndThenWhatOthersHaveLeft) {
  const std::vector<double> equal(6, 10), odd(7, 10);
  EXPECT_EQ(TeamTime(equal, 1), 60);
  EXPECT_EQ(TeamTime(equal, 2), 30);
  EXPECT_EQ(TeamTime(odd, 2), 40);
  EXPECT_EQ(TeamTime(equal, 4), 20);
  // The second thread's part is short: it takes one of the first's.
  EXPECT_EQ(TeamTime({10, 10, 10, 2, 2, 2}, 2), 20);
  EXPECT_EQ(TeamTime({10}, 8), 10);
  EXPECT_EQ(TeamTime({}, 2), 0);
}

int64_t Chunks(int64_t total, int64_t block) { return (total + block - 1) / block; }

TEST(EvenBlock, NoThreadWaitsForAnothersThirdChunk) {
  // 25 tiles of 3.3 us, at most seven together: four blocks would be 14 tiles and 11.
  const Dim block = EvenBlock({1, 25, 7, Cost(1, 3300)});
  const std::vector<double> one(25, 1);
  std::vector<double> chunks;
  for (int64_t at = 0; at < 25; at += block.value()) {
    chunks.push_back(static_cast<double>(std::min<int64_t>(block.value(), 25 - at)));
  }
  EXPECT_EQ(TeamTime(chunks, 2), 13);
  // Three panels of a large product become two blocks a thread where they can be cut, and stay
  // where they cannot.
  EXPECT_EQ(Chunks(20, EvenBlock({1, 20, 4, Cost(1, 3000)}).value()) % 2, 0);
  EXPECT_EQ(EvenBlock({1, 3, 1, Cost(1, 9000)}), Dim(1));
}

TEST(EvenBlock, WhatABlockCostsKeepsBlocksLarge) {
  const int64_t cheap = EvenBlock({1, 64, 64, Cost(1, 1000), 0}).value();
  const int64_t dear = EvenBlock({1, 64, 64, Cost(1, 1000), 20000}).value();
  EXPECT_LT(cheap, dear);
  // Nothing to share: one block.
  EXPECT_EQ(EvenBlock({1, 16, 16, Cost(1, 1)}), Dim(16));
}

TEST(EvenBlock, StaysWithinItsBounds) {
  EXPECT_EQ(EvenBlock({1, 1, 5, Cost(1, 10)}), Dim(1));
  EXPECT_EQ(EvenBlock({1, 0, 5, Cost(1, 10)}), Dim(1));
  EXPECT_EQ(EvenBlock({0, 8, 5, Cost(1, 10)}).value() <= 5, true);
  EXPECT_EQ(EvenBlock({1, 8, 0, Cost(1, 10)}), Dim(1));
  EXPECT_EQ(EvenBlock({1, 100000, 3, Cost(1, 1e6)}), Dim(3));  // many already
  for (int64_t most = 1; most < 40; ++most) {
    const int64_t block = EvenBlock({2, 37, most, Cost(1, 2000), 100}).value();
    EXPECT_GE(block, 1);
    EXPECT_LE(block, most);
  }
}

TEST(EvenBlock, SizesThatAreNotKnownTakeAsFewAsCanBe) {
  const Dim n = Dim::Symbol("n");
  EXPECT_EQ(EvenBlock({1, n, 7, Cost(1, 3000)}), Max(Min(Dim(7), n), 1));
  EXPECT_EQ(EvenBlock({n, 25, 8, Cost(1, 3000)}), Dim(7));  // four blocks, then equal ones
}

TEST(UnitsPerChunk, GivesSmallAndLargeWorkItsChunks) {
  EXPECT_EQ(UnitsPerChunk(1, Cost(1, 1e9)), Dim(1));
  // 40 us: some chunks, none below two microseconds.
  const int64_t units = UnitsPerChunk(400, Cost(400, 100)).value();
  EXPECT_GE(units, 10);
  EXPECT_EQ(Chunks(400, units) % 2, 0);
  EXPECT_LE(Chunks(1 << 24, UnitsPerChunk(1 << 24, Cost(1 << 24, 1000)).value()), 4200);
}

// Rows gathered out of a large table were taken for a kernel that reads all of it, and cut into
// hundreds of chunks of 50 ns.
TEST(ElementwiseCost, CountsWhatIsGatheredAndNotTheTable) {
  const auto graph = ir::Parse(R"(
graph @f(%table: f32[1000000,32], %rows: s32[16,1]) -> (f32[16,32]) {
  %2: f32[16,32] = gather(%table, %rows) {collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], slice_sizes = (1, 32), start_index_map = [0]}
  return %2
}
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_LT(ElementwiseCost(**graph, Target()).value(), Cost(1, 2000).value());
}

}  // namespace
}  // namespace tektite::cpu
