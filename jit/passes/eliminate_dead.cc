// Removes nodes that no output needs, also inside regions.
//
//   %0 = exp(%x)            (nothing uses %0)        ->   (gone)
//   %1 = neg(%x)                                          %0 = neg(%x)
//
// Limits: results of a multi-result node stand or fall together, and parameters always stay.
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

bool EliminateDeadIn(ir::Graph& graph) {
  bool changed = graph.EraseDead();
  for (const auto& node : graph.nodes()) {
    for (int i = 0; i < node->num_regions(); ++i) changed |= EliminateDeadIn(node->region(i));
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> EliminateDead(ir::Graph& graph, PassContext& context) {
  return EliminateDeadIn(graph);
}

}  // namespace tektite::passes
