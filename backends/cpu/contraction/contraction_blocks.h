// Blocks of a contraction: what a chunk computes, and how k is cut.
//
//   ChooseBlocks(plan, target);      // plan.block_rows == 64, plan.block_panels == 4, plan.cost
//   KBlocks k = BlocksOfSums(plan, plan.blocked_k_loops);
//
// Sizes follow from the caches: what a chunk reads again and again stays in half of L2.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_BLOCKS_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_BLOCKS_H_

#include "backends/cpu/contraction/contraction_tiling.h"

namespace tektite::cpu {

// Of a plan with its tile.
void ChooseBlocks(ContractionTiling& plan, const target::TargetInfo& target);

// Sums over k that are long are sums of blocks (long_sum.h): trips of one of the k loops in a
// block.
struct KBlocks {
  static constexpr int64_t kMultiple = 96;  // of trips, where the last loop is cut
  int depth = -1;                           // which loop; -1: k is one block
  ir::Dim trips = 0;
  ir::Dim count = 1;  // blocks in all, at least one
  ir::Dim per_loop(const ContractionTiling& plan) const {
    return CeilDiv(plan.k_loops[depth].trips, trips);
  }
};
// Of the loops from `first` on, the last of which takes `at_a_time` trips in a step.
KBlocks BlocksOfSums(const ContractionTiling& plan, int first, int64_t at_a_time = 1);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_BLOCKS_H_
