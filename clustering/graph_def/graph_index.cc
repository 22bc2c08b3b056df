#include "clustering/graph_def/graph_index.h"

#include <functional>
#include <queue>

#include "absl/strings/str_cat.h"

namespace tektite::graph_def {

bool IsMerge(const NodeDef& node) {
  return node.op == "Merge" || node.op == "RefMerge" || node.op == "_XlaMerge";
}

bool IsNextIteration(const NodeDef& node) {
  return node.op == "NextIteration" || node.op == "RefNextIteration";
}

bool IsBackEdge(const NodeDef& from, const NodeDef& to) {
  return IsNextIteration(from) && IsMerge(to);
}

absl::StatusOr<GraphIndex> GraphIndex::Create(const GraphDef& graph) {
  GraphIndex index;
  index.graph_ = &graph;
  index.by_name_.reserve(graph.nodes.size());
  for (int i = 0; i < index.num_nodes(); ++i) {
    if (!index.by_name_.emplace(graph.nodes[i].name, i).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two nodes are called '", graph.nodes[i].name, "'"));
    }
  }
  absl::Status status = index.ResolveInputs();
  if (status.ok()) status = index.Sort();
  if (!status.ok()) return status;
  return index;
}

int GraphIndex::Find(absl::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? -1 : it->second;
}

absl::Status GraphIndex::ResolveInputs() {
  inputs_.resize(num_nodes());
  uses_.resize(num_nodes());
  for (int i = 0; i < num_nodes(); ++i) {
    inputs_[i].reserve(node(i).inputs.size());
    for (const NodeInput& input : node(i).inputs) {
      const int from = Find(input.node);
      if (from < 0) {
        return absl::InvalidArgumentError(absl::StrCat("node '", node(i).name, "' has the input '",
                                                       input.ToString(), "', which is not there"));
      }
      uses_[from].push_back({i, static_cast<int>(inputs_[i].size()), input.index});
      inputs_[i].push_back({from, input.index});
    }
  }
  return absl::OkStatus();
}

absl::Status GraphIndex::Sort() {
  std::vector<int> waiting(num_nodes(), 0);
  // The smallest ready node first keeps the graph's own order, which is usually the program's.
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < num_nodes(); ++i) {
    for (const Edge& in : inputs_[i]) waiting[i] += IsBackEdge(node(in.node), node(i)) ? 0 : 1;
    if (waiting[i] == 0) ready.push(i);
  }
  order_.reserve(num_nodes());
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order_.push_back(i);
    for (const Use& use : uses_[i]) {
      if (IsBackEdge(node(i), node(use.node))) continue;
      if (--waiting[use.node] == 0) ready.push(use.node);
    }
  }
  if (static_cast<int>(order_.size()) == num_nodes()) return absl::OkStatus();
  for (int i = 0; i < num_nodes(); ++i) {
    if (waiting[i] > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("node '", node(i).name, "' depends on itself through a cycle"));
    }
  }
  return absl::InternalError("the graph could not be sorted");
}

}  // namespace tektite::graph_def
