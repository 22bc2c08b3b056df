// Causal masks that attention reads from memory, worked out where they are used: a part of fuse.
//
//   before  %late: bool[6,6] = compare(iota, iota)  %m: bool[2,3,6,6] = broadcast_in_dim(%late)
//           select(%m, ...) in attention's logits
//   after   %m: bool[2,3,6,6] = compare(iota, iota)     of the logits' own shape
//
// A back end's kernel then sees which keys no row attends to (jit/ops/logit_form.h), and reads no
// mask.  What depends on positions alone is a comparison, sum, choice or truth value of iotas,
// running sums of ones, and constants that are triangles of two values, however it is broadcast.
//
// For attention in the narrow types that a back end has kernels for.
#ifndef TEKTITE_JIT_PASSES_SPREAD_POSITIONS_H_
#define TEKTITE_JIT_PASSES_SPREAD_POSITIONS_H_

#include "jit/ir/graph.h"
#include "jit/target/target_info.h"

namespace tektite::passes {

// Whether it has changed anything.
bool SpreadPositions(ir::Graph& graph, const target::TargetInfo& target);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_SPREAD_POSITIONS_H_
