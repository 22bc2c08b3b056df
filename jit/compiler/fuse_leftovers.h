// Puts every node that the passes left outside a fusion into one of its own.
//
//   before  %2 = add(%0, %1)
//   after   %2 = fusion(%0, %1) {kind = loop} of { add }
//
// After the fuse pass there is hardly any; with --disable_passes=fuse it is every op, which is how
// a kernel is tested alone.  Parameters, constants, reshapes, and parts of memory that are aligned
// as the back end wants them (TargetInfo::operand_alignment) stay as they are.
//
// SplitFusion is for a fusion that a back end has no kernel for: its ops become fusions of their
// own, which it may have kernels for.
#ifndef TEKTITE_JIT_COMPILER_FUSE_LEFTOVERS_H_
#define TEKTITE_JIT_COMPILER_FUSE_LEFTOVERS_H_

#include <vector>

#include "jit/ir/graph.h"

namespace tektite::compiler {

void FuseLeftovers(ir::Graph& graph, int64_t operand_alignment = 1);

// Takes `fusion` apart: one fusion for each op, in topological order, where the fusion stood.  A
// contraction keeps what unpacks its weights, and elementwise ops the broadcasts they read.  Empty
// when there is but one op, and nothing has changed then.
std::vector<ir::Node*> SplitFusion(ir::Graph& graph, ir::Node* fusion,
                                   int64_t operand_alignment = 1);

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_FUSE_LEFTOVERS_H_
