// Merges neighbouring dimensions of a fusion that are never told apart, and drops those of size 1.
//
//   before  fusion(x: f32[1,128,768], bias: f32[768])      iterates over [1,128,768]
//   after   fusion(x: f32[128,768], bias: f32[768])        iterates over [128,768]
//
// so that emitters see long inner loops.  Operands and results change shape through reshapes
// outside the fusion, which are views and cost nothing.  A contraction or window keeps its own
// shape inside; a reshape follows it, and the epilogue runs over the merged dimensions.  Of data
// movement only columns (jit/ir/columns.h) stay, in loops.
#ifndef TEKTITE_JIT_PASSES_COLLAPSE_DIMS_H_
#define TEKTITE_JIT_PASSES_COLLAPSE_DIMS_H_

#include "jit/ir/graph.h"

namespace tektite::passes {

// Replaces `fusion` by one over merged dimensions and returns it; null when nothing changes (also
// when the region holds other data movement, which tells every dimension apart).
ir::Node* CollapseDims(ir::Graph& graph, ir::Node* fusion);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_COLLAPSE_DIMS_H_
