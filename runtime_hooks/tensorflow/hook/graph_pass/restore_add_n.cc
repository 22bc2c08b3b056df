#include "runtime_hooks/tensorflow/hook/graph_pass/restore_add_n.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tensorflow/core/framework/node_def_util.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

struct Chain {
  Node* variable = nullptr;
  Node* assign = nullptr;
  Node* zero = nullptr;
  std::vector<Node*> accumulates;
};

bool FindChain(const Node& destroy, Chain* chain) {
  const auto input = [](const Node& node, int i, const char* op, Node** found) {
    const Edge* edge = nullptr;
    if (!node.input_edge(i, &edge).ok()) return false;
    *found = edge->src();
    return edge->src()->type_string() == op;
  };
  if (!input(destroy, 0, "Assign", &chain->assign) ||
      !input(*chain->assign, 0, "TemporaryVariable", &chain->variable) ||
      !input(*chain->assign, 1, "Const", &chain->zero)) {
    return false;
  }
  for (const Edge* edge : chain->assign->out_edges()) {
    if (edge->dst() == &destroy) continue;
    if (edge->IsControlEdge() || edge->dst()->type_string() != "AssignAdd") return false;
    chain->accumulates.push_back(edge->dst());
  }
  // As Grappler numbered them: ..._accum_2 before ..._accum_10.
  std::sort(chain->accumulates.begin(), chain->accumulates.end(), [](const Node* a, const Node* b) {
    return std::make_pair(a->name().size(), a->name()) <
           std::make_pair(b->name().size(), b->name());
  });
  return !chain->accumulates.empty();
}

void CopyControlInputs(const Node& from, Node* to, Graph* graph) {
  std::vector<Node*> sources;
  for (const Edge* edge : from.in_edges()) {
    if (edge->IsControlEdge()) sources.push_back(edge->src());
  }
  for (Node* source : sources) graph->AddControlEdge(source, to);
}

}  // namespace

bool IsSpelledOutSum(const Node& node) { return node.type_string() == "DestroyTemporaryVariable"; }

Node* RestoreAddN(Node* destroy, Graph* graph) {
  Chain chain;
  if (!FindChain(*destroy, &chain)) return nullptr;
  NodeDef def = destroy->def();
  def.set_op("AddN");
  def.clear_input();
  def.mutable_attr()->erase("var_name");
  tensorflow::AddNodeAttr("N", static_cast<int>(chain.accumulates.size()), &def);
  absl::StatusOr<Node*> added = graph->AddNode(std::move(def));
  if (!added.ok()) return nullptr;
  Node* const sum = *added;
  sum->set_assigned_device_name(destroy->assigned_device_name());

  std::vector<Node*> removed = chain.accumulates;
  removed.push_back(chain.assign);
  removed.push_back(chain.variable);
  for (size_t i = 0; i < chain.accumulates.size(); ++i) {
    const Edge* operand = nullptr;
    if (!chain.accumulates[i]->input_edge(1, &operand).ok()) continue;  // never: it has two inputs
    graph->AddEdge(operand->src(), operand->src_output(), sum, static_cast<int>(i));
  }
  for (const Node* node : removed) CopyControlInputs(*node, sum, graph);
  CopyControlInputs(*destroy, sum, graph);
  std::vector<const Edge*> leaving(destroy->out_edges().begin(), destroy->out_edges().end());
  for (const Edge* edge : leaving) {
    Node* const reader = edge->dst();
    const int input = edge->dst_input();
    const bool is_control = edge->IsControlEdge();
    graph->RemoveEdge(edge);
    if (is_control) {
      graph->AddControlEdge(sum, reader);
    } else {
      graph->AddEdge(sum, 0, reader, input);
    }
  }
  removed.push_back(destroy);
  for (Node* node : removed) graph->RemoveNode(node);
  if (std::all_of(chain.zero->out_edges().begin(), chain.zero->out_edges().end(),
                  [](const Edge* edge) { return edge->dst()->IsSink(); })) {
    CopyControlInputs(*chain.zero, sum, graph);
    graph->RemoveNode(chain.zero);
  }
  return sum;
}

}  // namespace tektite::tf_hook
