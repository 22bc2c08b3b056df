// Moves a contraction's epilogue out of its fusion, into a fusion of its own.
//
//   before  fusion(%x, %w, %b) {kind = contraction}: max(add(convolution(%x, %w), %b), 0)
//   after   fusion(%x, %w) {kind = contraction}: convolution(%x, %w)
//           fusion(that, %b) {kind = loop}: max(add(%0, %b), 0)
//
// For a way to make the kernel that can do nothing else (Schedule::stands_alone).
#ifndef TEKTITE_JIT_PASSES_FUSION_SPLIT_EPILOGUE_H_
#define TEKTITE_JIT_PASSES_FUSION_SPLIT_EPILOGUE_H_

#include "jit/ir/graph.h"

namespace tektite::passes {

// `fusion` is of kind contraction, its right-hand side not packed yet.  Returns the fusion that
// holds the contraction, which is `fusion` itself when there is nothing beside it; null when the
// contraction reads something that is computed in the fusion, or is read outside through a view.
ir::Node* SplitEpilogue(ir::Graph& graph, ir::Node* fusion);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_FUSION_SPLIT_EPILOGUE_H_
