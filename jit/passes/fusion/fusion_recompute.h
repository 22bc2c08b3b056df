// Which results of a kernel its readers compute again instead of reading them.
//
//   before  k1 computes and writes x, x * 0.5 and exp(-x * x), of which k2, much later, reads all
//   after   k1 writes x; k2 reads x and computes the other two
//
// A training step writes what its gradients read, megabytes that are in no cache when they are
// read. A few operations on values that are in memory in any case take less time than the way there
// and back.  A value that is not written yet takes the place of two or more that follow from it.  A
// loop of which readers compute every value is no kernel any more.
//
// No expensive operation is computed twice: one moves to the only kernel that needs it.  Bits stay
// the same.  Limits: elementwise values of known sizes, PassContext::recomputed_bytes or more each,
// which every reader takes at its own position; not between kernels that update variables, nor for
// weights.
#ifndef TEKTITE_JIT_PASSES_FUSION_FUSION_RECOMPUTE_H_
#define TEKTITE_JIT_PASSES_FUSION_FUSION_RECOMPUTE_H_

#include <cstdint>

#include "jit/passes/fusion/fusion_groups.h"

namespace tektite::passes {

// Of groups that write at least so many bytes a value.
void RecomputeInReaders(ir::Graph& graph, FusionGroups& groups, int64_t least_bytes);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_FUSION_FUSION_RECOMPUTE_H_
