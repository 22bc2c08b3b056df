#include "clustering/whole_graph.h"

#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "clustering/compilability.h"

namespace tektite::clustering {
namespace {

using graph_def::GraphIndex;

// Where a result was made: behind the identities on its way. Nothing for a node without inputs.
std::optional<GraphIndex::Edge> SourceOf(const GraphIndex& index, int node) {
  for (;;) {
    if (index.node(node).NumDataInputs() == 0) return std::nullopt;
    const GraphIndex::Edge from = index.inputs(node)[0];
    if (index.node(from.node).op != "Identity") return from;
    node = from.node;
  }
}

}  // namespace

bool IsWholeGraph(const GraphIndex& index, const std::vector<int>& members) {
  const absl::flat_hash_set<int> inside(members.begin(), members.end());
  absl::flat_hash_set<std::pair<int, int>> results;
  for (int node = 0; node < index.num_nodes(); ++node) {
    if (inside.contains(node)) continue;
    if (CountsAsOp(index.node(node))) return false;
    if (index.node(node).op != "_Retval") continue;
    const std::optional<GraphIndex::Edge> from = SourceOf(index, node);
    if (!from || !inside.contains(from->node)) return false;
    if (!results.emplace(from->node, from->output).second) return false;
  }
  return true;
}

}  // namespace tektite::clustering
