// Columns of the last dimension, as the colours of pixels are: taken out one by one, and joined.
//
//   %1: f32[8,64,64,1] = slice(%0: f32[8,64,64,3]) {starts = (0, 0, 0, 2), ...}    // all blues
//   %2: f32[8,64,64,3] = concatenate(%r, %g, %1) {dimension = 3}
//
// Why: work on columns goes along the rows, a vector of pixels at a time, however few columns there
// are, if the nodes that take and join them are in the same kernel.
//
// Limits: few columns, since a kernel holds a vector of each.
#ifndef TEKTITE_JIT_IR_COLUMNS_H_
#define TEKTITE_JIT_IR_COLUMNS_H_

#include "jit/ir/graph.h"

namespace tektite::ir {

inline constexpr int kMaxColumns = 4;

// A slice that takes one of several columns, and all rows.
bool TakesColumn(const Node& node);

// A concatenate of two to kMaxColumns columns.
bool JoinsColumns(const Node& node);

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_COLUMNS_H_
