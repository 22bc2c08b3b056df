#include "clustering/graph_def/graph_index.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tektite::graph_def {

using clustering::OpFacts;

absl::StatusOr<GraphIndex> GraphIndex::Create(const GraphDef& graph) {
  GraphIndex index;
  index.graph_ = &graph;
  index.by_name_.reserve(graph.nodes.size());
  index.facts_.reserve(graph.nodes.size());
  for (int i = 0; i < index.num_nodes(); ++i) {
    if (!index.by_name_.emplace(graph.nodes[i].name, i).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two nodes are called '", graph.nodes[i].name, "'"));
    }
  }
  for (const NodeDef& node : graph.nodes) index.facts_.push_back(&clustering::FactsOf(node.op));
  index.loop_of_.assign(index.num_nodes(), 0);
  absl::Status status = index.ResolveInputs();
  if (status.ok()) status = index.Sort();
  if (status.ok()) index.FindLoops();
  if (status.ok() && index.loops_.size() > 1) status = index.Sort();
  if (!status.ok()) return status;
  return index;
}

bool GraphIndex::IsBackEdge(int from, int to) const {
  return facts(from).Is(OpFacts::kNextIteration) && facts(to).Is(OpFacts::kMerge);
}

int GraphIndex::LoopOfResults(int node) const {
  const int loop = loop_of_[node];
  return facts(node).Is(OpFacts::kExit) ? loops_[loop].around : loop;
}

absl::Span<const int> GraphIndex::Entries(int node) const {
  if (!facts(node).Is(OpFacts::kExit)) return {};
  return loops_[loop_of_[node]].enters;
}

void GraphIndex::FindLoops() {
  std::map<std::pair<int, std::string>, int> numbers;  // by the loop around it and its name
  for (const int i : order_) {
    int loop = 0;
    for (const Edge& in : inputs_[i]) loop = std::max(loop, LoopOfResults(in.node));
    if (facts(i).Is(OpFacts::kEnter)) {
      const std::pair<int, std::string> key(loop, node(i).attrs.String("frame_name"));
      const int next = static_cast<int>(loops_.size());
      const auto [it, is_new] = numbers.emplace(key, next);
      if (is_new) loops_.emplace_back().around = loop;
      loop = it->second;
      loops_[loop].enters.push_back(i);
    } else if (facts(i).Is(OpFacts::kExit)) {
      loops_[loop].exits.push_back(i);
    }
    loop_of_[i] = loop;
  }
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
    for (const Edge& in : inputs_[i]) waiting[i] += IsBackEdge(in.node, i) ? 0 : 1;
    waiting[i] += static_cast<int>(Entries(i).size());
    if (waiting[i] == 0) ready.push(i);
  }
  order_.clear();
  order_.reserve(num_nodes());
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order_.push_back(i);
    const auto is_done_for = [&](int other) {
      if (--waiting[other] == 0) ready.push(other);
    };
    for (const Use& use : uses_[i]) {
      if (!IsBackEdge(i, use.node)) is_done_for(use.node);
    }
    if (!facts(i).Is(OpFacts::kEnter)) continue;
    for (const int exit : loops_[loop_of_[i]].exits) is_done_for(exit);
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
