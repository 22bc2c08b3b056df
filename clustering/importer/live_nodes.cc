#include "clustering/importer/live_nodes.h"

#include "clustering/graph_def/variable_ops.h"

namespace tektite::importer {

std::vector<int> LiveNodes(const graph_def::GraphIndex& index) {
  std::vector<bool> live(index.num_nodes(), false);
  const std::vector<int>& order = index.order();
  std::vector<int> result;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const std::string& op = index.node(*it).op;
    if (op == "_Retval" || graph_def::WritesVariable(op)) live[*it] = true;
    if (!live[*it]) continue;
    result.push_back(*it);
    for (const graph_def::GraphIndex::Edge& edge : index.inputs(*it)) {
      if (!edge.is_control()) live[edge.node] = true;
    }
  }
  return std::vector<int>(result.rbegin(), result.rend());
}

}  // namespace tektite::importer
