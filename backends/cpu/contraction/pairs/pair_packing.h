// Copies of a product's operands in words of two neighbouring k (pair_tiling.h), as its
// instructions read them.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_PAIRS_PAIR_PACKING_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_PAIRS_PAIR_PACKING_H_

#include "backends/cpu/contraction/pairs/pair_tiling.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

// `count` rows of a block from row `first` on, to `to` as [row][plan.pitch()] words.  `lhs` and
// `block_begin` as in RowAddresses.  Writes whole groups of 16 rows where rows are contiguous.
void PackPairRows(loop::Builder& b, const PairTiling& plan, loop::Value lhs,
                  loop::Value block_begin, loop::Value first, loop::Value count, loop::Value to);

// The panel that begins at `column` of the batch's right-hand side, to `to` as
// [plan.words][panel] words with room for kTileSide more rows; columns that do not exist are zeros
// or repeat the last one.
void PackPairPanel(loop::Builder& b, const PairTiling& plan, loop::Value rhs, loop::Value column,
                   loop::Value to);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_PAIRS_PAIR_PACKING_H_
