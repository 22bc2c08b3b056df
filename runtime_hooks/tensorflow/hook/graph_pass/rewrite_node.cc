#include "runtime_hooks/tensorflow/hook/graph_pass/rewrite_node.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/graph/tensor_id.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

struct Input {
  Node* node;
  int output;
};

// False where an input is no node of the graph.
bool FindInputs(const NodeDef& def, const Graph& graph, std::vector<Input>* inputs) {
  absl::flat_hash_map<absl::string_view, Node*> by_name;
  for (Node* const node : graph.op_nodes()) by_name.emplace(node->name(), node);
  for (const std::string& input : def.input()) {
    const tensorflow::TensorId id = tensorflow::ParseTensorName(input);
    const auto found = by_name.find(id.node());
    if (found == by_name.end()) return false;
    inputs->push_back({found->second, id.index()});
  }
  return true;
}

void MoveReaders(Node* from, Node* to, Graph* graph) {
  const std::vector<const Edge*> leaving(from->out_edges().begin(), from->out_edges().end());
  for (const Edge* edge : leaving) {
    Node* const reader = edge->dst();
    const int output = edge->src_output();
    const int input = edge->dst_input();
    const bool is_control = edge->IsControlEdge();
    graph->RemoveEdge(edge);
    if (is_control) {
      graph->AddControlEdge(to, reader);
    } else {
      graph->AddEdge(to, output, reader, input);
    }
  }
}

bool IsRead(const Node& node) {
  return std::any_of(node.out_edges().begin(), node.out_edges().end(),
                     [](const Edge* edge) { return !edge->dst()->IsSink(); });
}

// The node, which nothing reads, and then what nothing reads any more.
void RemoveWithInputs(Node* node, Graph* graph) {
  std::vector<Node*> unread = {node};
  while (!unread.empty()) {
    Node* const next = unread.back();
    unread.pop_back();
    std::vector<Node*> sources;
    for (const Edge* edge : next->in_edges()) {
      Node* const source = edge->src();
      const bool is_known = std::find(sources.begin(), sources.end(), source) != sources.end();
      if (!source->IsSource() && !is_known) sources.push_back(source);
    }
    graph->RemoveNode(next);
    std::copy_if(sources.begin(), sources.end(), std::back_inserter(unread),
                 [](const Node* source) { return !IsRead(*source); });
  }
}

}  // namespace

Node* RewriteNode(Node* node, const std::string& bytes, Graph* graph) {
  NodeDef rewritten;
  std::vector<Input> inputs;
  if (!rewritten.ParseFromString(bytes) || !FindInputs(rewritten, *graph, &inputs)) return nullptr;
  NodeDef def = node->def();
  def.set_op(rewritten.op());
  def.clear_input();
  def.mutable_attr()->swap(*rewritten.mutable_attr());
  const absl::StatusOr<Node*> added = graph->AddNode(std::move(def));
  if (!added.ok()) return nullptr;
  (*added)->set_assigned_device_name(node->assigned_device_name());
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    if (inputs[i].output == Graph::kControlSlot) {
      graph->AddControlEdge(inputs[i].node, *added);
    } else {
      graph->AddEdge(inputs[i].node, inputs[i].output, *added, i);
    }
  }
  MoveReaders(node, *added, graph);
  RemoveWithInputs(node, graph);
  return *added;
}

}  // namespace tektite::tf_hook
