// Where the left-hand rows of a contraction's register tile lie.
//
//   for (const RowAddress& row : RowAddresses(b, plan, lhs, block_begin, tile)) {
//     b.Load(row.pointer, plan.dtype, b.Add(k, b.Index(row.displacement)));
//   }
//
// Rows that are a known distance apart share a pointer; all other rows have one each, which takes
// registers. In a convolution a row is an output pixel, and a tile may run over the end of an image
// row.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_ROW_ADDRESSES_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_ROW_ADDRESSES_H_

#include <cstdint>
#include <vector>

#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/contraction/row_tiles.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

// Of the row's first element; `displacement` elements behind `pointer`.
struct RowAddress {
  loop::Value pointer;
  int64_t displacement = 0;
};

// The tile counts its rows from the beginning of a block, which is row `block_begin` of a batch.
// `lhs` is where a convolution's block or a product's batch starts.  Rows that do not exist repeat
// the last that does.
std::vector<RowAddress> RowAddresses(loop::Builder& b, const ContractionTiling& plan,
                                     loop::Value lhs, loop::Value block_begin, const RowTile& tile);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_ROW_ADDRESSES_H_
