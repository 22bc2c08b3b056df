#include "clustering/importer/live_nodes.h"

#include "clustering/graph_def/assignments.h"

namespace tektite::importer {

using clustering::OpFacts;

std::vector<int> LiveNodes(const graph_def::GraphIndex& index) {
  std::vector<bool> live(index.num_nodes(), false);
  const std::vector<int>& order = index.order();
  std::vector<int> result;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (index.node(*it).op == "_Retval" || graph_def::MayAssign(index, *it) ||
        index.facts(*it).Is(OpFacts::kChecks)) {
      live[*it] = true;
    }
    if (!live[*it]) continue;
    result.push_back(*it);
    for (const graph_def::GraphIndex::Edge& edge : index.inputs(*it)) {
      if (!edge.is_control()) live[edge.node] = true;
    }
  }
  return std::vector<int>(result.rbegin(), result.rend());
}

}  // namespace tektite::importer
