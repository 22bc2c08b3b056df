#include "runtime_hooks/tensorflow/hook/graph_pass/ordered_loops.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/graph/control_flow.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::ControlFlowInfo;
using tensorflow::Graph;
using tensorflow::Node;

// Stateful ops whose order does not matter where nothing writes.
constexpr std::string_view kReads[] = {
    "Assert",        "ReadVariableOp",     "ResourceGather", "ResourceGatherNd", "VarHandleOp",
    "VariableShape", "VarIsInitializedOp", "_HostRecv",      "_HostSend",        "_Recv",
    "_Send",
};
// Begin the names of ops that the graph itself orders, by handles, flows and indices.
constexpr std::string_view kOrdered[] = {"Stack", "TensorArray"};

bool IsCluster(const Node& node) { return node.type_string() == "TektiteCluster"; }

bool HasEffect(const Node& node) {
  if (IsCluster(node)) {
    std::vector<int> updated;
    return tensorflow::GetNodeAttr(node.attrs(), "updated_inputs", &updated).ok() &&
           !updated.empty();
  }
  const std::string& op = node.type_string();
  const auto begins_op = [&](std::string_view name) { return absl::StartsWith(op, name); };
  return node.op_def().is_stateful() && !node.IsControlFlow() &&
         std::find(std::begin(kReads), std::end(kReads), op) == std::end(kReads) &&
         std::none_of(std::begin(kOrdered), std::end(kOrdered), begins_op);
}

}  // namespace

void OrderLoops(Graph* graph) {
  const auto nodes = graph->op_nodes();
  const auto is_enter = [](const Node* node) { return node->IsEnter(); };
  if (std::none_of(nodes.begin(), nodes.end(), is_enter)) return;
  std::vector<ControlFlowInfo> info;
  if (!tensorflow::BuildControlFlowInfo(graph, &info).ok()) return;
  absl::flat_hash_set<std::string_view> with_cluster, with_effect;  // names of frames
  absl::flat_hash_map<std::string_view, std::string_view> outer;
  for (const Node* const node : nodes) {
    const ControlFlowInfo& here = info[node->id()];
    if (here.frame_name.empty()) continue;
    outer.emplace(here.frame_name, info[here.parent_frame->id()].frame_name);
    if (IsCluster(*node)) with_cluster.insert(here.frame_name);
    if (HasEffect(*node)) with_effect.insert(here.frame_name);
  }
  // What is in a loop is in those around it.
  const auto spread = [&](absl::flat_hash_set<std::string_view>* frames) {
    const std::vector<std::string_view> direct(frames->begin(), frames->end());
    for (std::string_view frame : direct) {
      while (!(frame = outer[frame]).empty()) frames->insert(frame);
    }
  };
  spread(&with_cluster);
  spread(&with_effect);
  for (Node* const node : nodes) {
    if (!node->IsEnter()) continue;
    const std::string_view frame = info[node->id()].frame_name;
    if (!with_cluster.contains(frame) || !with_effect.contains(frame)) continue;
    node->ClearAttr("parallel_iterations");
    node->AddAttr("parallel_iterations", 1);
  }
}

}  // namespace tektite::tf_hook
