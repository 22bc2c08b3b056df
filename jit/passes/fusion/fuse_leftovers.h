// SplitFusion takes apart a fusion that a back end has no kernel for: its ops become fusions of
// their own, which it may have kernels for.  The pass fuse_leftovers makes such fusions, too.
#ifndef TEKTITE_JIT_PASSES_FUSION_FUSE_LEFTOVERS_H_
#define TEKTITE_JIT_PASSES_FUSION_FUSE_LEFTOVERS_H_

#include <vector>

#include "jit/ir/graph.h"

namespace tektite::passes {

// One fusion for each op, in topological order, where the fusion stood.  A
// contraction keeps what unpacks its weights, and elementwise ops the broadcasts they read.  Empty
// when there is but one op, and nothing has changed then.
std::vector<ir::Node*> SplitFusion(ir::Graph& graph, ir::Node* fusion,
                                   int64_t operand_alignment = 1);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_FUSION_FUSE_LEFTOVERS_H_
