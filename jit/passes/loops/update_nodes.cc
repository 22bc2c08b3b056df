#include "jit/passes/loops/update_nodes.h"

#include <algorithm>
#include <vector>

#include "jit/ir/updates.h"
#include "jit/passes/fusion/fusion_nodes.h"
#include "jit/passes/names.h"

namespace tektite::passes {
namespace {

using NodeSet = absl::flat_hash_set<const Node*>;

// Computes each element of its result from the elements at the same place.
bool KeepsPlaces(const Node& node) {
  if (ir::IsElementwise(node.op())) return true;
  return node.op() == Op::kReshape && Squeezed(node.shape()) == Squeezed(node.operand_shape(0));
}

// Parameters that are updated, and values computed from them place by place.
NodeSet FromUpdated(const std::vector<const Node*>& nodes) {
  NodeSet found;
  for (const Node* node : nodes) {
    if (ir::IsUpdated(*node)) found.insert(node);
    if (!KeepsPlaces(*node)) continue;
    const auto operands = node->operands();
    if (std::any_of(operands.begin(), operands.end(),
                    [&](ir::Value v) { return found.contains(v.node); })) {
      found.insert(node);
    }
  }
  return found;
}

}  // namespace

NodeSet UpdateNodes(const ir::Graph& graph) {
  std::vector<const Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  const NodeSet from_updated = FromUpdated(nodes);
  NodeSet updates;
  if (from_updated.empty()) return updates;
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node* const node = *it;
    if (!KeepsPlaces(*node)) continue;
    if (node->IsOutput()) {
      if (from_updated.contains(node)) updates.insert(node);
      continue;
    }
    const std::vector<ir::Use>& uses = node->uses();
    if (!uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
          return updates.contains(use.user);
        })) {
      updates.insert(node);
    }
  }
  return updates;
}

}  // namespace tektite::passes
