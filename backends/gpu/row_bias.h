// The bias behind a contraction, where a library can add it: one f32 for each feature.
//
//   %y: f32[2,5,16] = dot_general(...)
//   %z: f32[10,16] = add(reshape(%y), broadcast_in_dim(%bias: f32[16]))
//   RowBias(z, y)                                  // %bias
//
// Rows may be counted in one dimension behind the contraction, as passes/collapse_dims.h leaves
// them.
#ifndef TEKTITE_BACKENDS_GPU_ROW_BIAS_H_
#define TEKTITE_BACKENDS_GPU_ROW_BIAS_H_

#include "jit/ir/graph.h"

namespace tektite::gpu {

// The parameter that `node` adds to every row of the contraction `y` of f32; null: it does anything
// else.
const ir::Node* RowBias(const ir::Node& node, const ir::Node& y);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_ROW_BIAS_H_
