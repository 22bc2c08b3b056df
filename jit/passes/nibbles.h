// Weights whose numbers in a column of a batch lie within 16, two to a byte:
//
//   s8[batch, k, n]  ->  s8[batch, ceil(n / width), 1 + k / 2, width]
//
//   row 0        the least number of the column
//   row 1 + i    numbers 2 i, in the low four bits, and 2 i + 1, each less the least one
//
// The columns lie in panels of `width`.
//
// Why: products of few rows wait for their weights.  A dot_general promises the range by its
// attribute `nibbles`.
#ifndef TEKTITE_JIT_PASSES_NIBBLES_H_
#define TEKTITE_JIT_PASSES_NIBBLES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "jit/ir/graph.h"
#include "jit/ops/builder.h"

namespace tektite::passes {

// Appends the fusions that pack `weights`, s8[batch, k, n] of known sizes with an even k, in front
// of `before`.
absl::StatusOr<ir::Value> PackNibbles(ir::Graph& graph, ir::Value weights, int64_t width,
                                      ir::Node* before);

// The inverse, of `n` columns.
ir::Value UnpackNibbles(ops::FuncBuilder& b, ir::Value packed, const ir::Dim& n);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_NIBBLES_H_
