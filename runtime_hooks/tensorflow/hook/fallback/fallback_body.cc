#include "runtime_hooks/tensorflow/hook/fallback/fallback_body.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/graph_to_functiondef.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/graph/algorithm.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;
using tensorflow::OptimizationPassRegistry;

// An argument that a constant feeds, and the constant that stands for it while kernels are chosen:
// oneDNN's keep their own packed copy of a filter that they know to be constant.
struct StandIn {
  std::string argument;
  std::string constant;
};

Node* FindNode(const Graph& graph, std::string_view name) {
  for (Node* node : graph.op_nodes()) {
    if (node->name() == name) return node;
  }
  return nullptr;
}

void MoveReaders(Node* from, Node* to, Graph* graph) {
  const std::vector<const Edge*> edges(from->out_edges().begin(), from->out_edges().end());
  for (const Edge* edge : edges) {
    if (edge->IsControlEdge()) continue;
    Node* const reader = edge->dst();
    const int input = edge->dst_input();
    graph->RemoveEdge(edge);
    graph->AddEdge(to, 0, reader, input);
  }
}

absl::StatusOr<std::vector<StandIn>> PutConstants(const std::vector<int>& constant_inputs,
                                                  Graph* graph) {
  std::vector<Node*> arguments;
  for (Node* node : graph->op_nodes()) {
    int index = -1;
    if (node->IsArg() && tensorflow::GetNodeAttr(node->attrs(), "index", &index).ok() &&
        std::binary_search(constant_inputs.begin(), constant_inputs.end(), index)) {
      arguments.push_back(node);
    }
  }
  std::vector<StandIn> stand_ins;
  for (Node* argument : arguments) {
    tensorflow::TensorProto value;
    value.set_dtype(argument->output_type(0));
    value.mutable_tensor_shape();
    NodeDef def;
    def.set_name(graph->NewName("tektite_constant"));
    def.set_op("Const");
    tensorflow::AddNodeAttr("dtype", value.dtype(), &def);
    tensorflow::AddNodeAttr("value", value, &def);
    stand_ins.push_back({argument->name(), def.name()});
    TF_ASSIGN_OR_RETURN(Node* const constant, graph->AddNode(std::move(def)));
    MoveReaders(argument, constant, graph);
  }
  return stand_ins;
}

absl::Status TakeConstants(const std::vector<StandIn>& stand_ins, Graph* graph) {
  for (const StandIn& stand_in : stand_ins) {
    Node* const constant = FindNode(*graph, stand_in.constant);
    if (constant == nullptr) continue;  // nothing reads it any more
    Node* const argument = FindNode(*graph, stand_in.argument);
    if (argument == nullptr) return absl::InternalError("a pass removed an argument");
    MoveReaders(constant, argument, graph);
    graph->RemoveNode(constant);
  }
  tensorflow::FixupSourceAndSinkEdges(graph);
  return absl::OkStatus();
}

// The ops that oneDNN has kernels for: TensorFlow's pass puts a prefix before their names.
const absl::flat_hash_set<std::string>& OpsOfOneDnn() {
  static const auto* const ops = [] {
    auto* const names = new absl::flat_hash_set<std::string>;
    tensorflow::GetFilteredRegisteredKernels([names](const tensorflow::KernelDef& kernel) {
      absl::string_view op = kernel.op();
      if (absl::ConsumePrefix(&op, "_Mkl")) {
        names->emplace(op);
        if (absl::ConsumePrefix(&op, "Native")) names->emplace(op);
      }
      return false;
    });
    return names;
  }();
  return *ops;
}

// Of no device. TensorFlow's pass for oneDNN leaves nodes alone that are not on a CPU.
constexpr char kElsewhere[] = "/device:TEKTITE_ELSEWHERE:0";

// For each op and type that a thread meets first, that pass looks twice through the list of all
// kernels: 50 ms for a function of 90 ops, 6 where it sees only these. They have a kernel of
// oneDNN's, or become part of a neighbor's.
bool ConcernsOneDnn(const Node& node) {
  static const auto* const joined =
      new absl::flat_hash_set<std::string>{"BiasAdd", "BiasAddGrad", "Pad", "Transpose"};
  const std::string& op = node.type_string();
  return absl::StartsWith(op, "_") || joined->contains(op) || OpsOfOneDnn().contains(op);
}

void HideFromOneDnn(Graph* graph) {
  for (Node* node : graph->op_nodes()) {
    if (node->assigned_device_name().empty() && !ConcernsOneDnn(*node)) {
      node->set_assigned_device_name(kElsewhere);
    }
  }
}

void Show(Graph* graph) {
  for (Node* node : graph->op_nodes()) {
    if (node->assigned_device_name() == kElsewhere) node->set_assigned_device_name("");
  }
}

// Runs the passes that TensorFlow runs on each partition of a graph before it makes kernels.
absl::Status RunPartitionPasses(const FallbackRequest& request, std::unique_ptr<Graph>* graph) {
  std::unordered_map<std::string, std::unique_ptr<Graph>> partitions;
  HideFromOneDnn(graph->get());
  partitions[request.device] = std::move(*graph);
  tensorflow::GraphOptimizationPassOptions options;
  options.session_handle = request.pass_options->session_handle;
  options.session_options = request.pass_options->session_options;
  options.flib_def = request.pass_options->flib_def;
  options.is_function_graph = request.pass_options->is_function_graph;
  options.partition_graphs = &partitions;
  const absl::Status status = OptimizationPassRegistry::Global()->RunGrouping(
      OptimizationPassRegistry::POST_PARTITIONING, options);
  *graph = std::move(partitions[request.device]);
  Show(graph->get());
  return status;
}

}  // namespace

absl::StatusOr<tensorflow::FunctionDef> FallbackFunction(std::unique_ptr<Graph> body,
                                                         const FallbackRequest& request) {
  TF_ASSIGN_OR_RETURN(const std::vector<StandIn> stand_ins,
                      PutConstants(request.constant_inputs, body.get()));
  TF_RETURN_IF_ERROR(RunPartitionPasses(request, &body));
  TF_RETURN_IF_ERROR(TakeConstants(stand_ins, body.get()));
  tensorflow::FunctionDef function;
  // A node with effects and without results would look like one that nothing needs.
  const auto effect = [](const Node* node) -> absl::optional<std::string> {
    const bool has_effects = node->op_def().is_stateful() && node->num_outputs() == 0;
    if (!has_effects || node->IsRetval()) return absl::nullopt;
    return node->name();
  };
  TF_RETURN_IF_ERROR(tensorflow::GraphToFunctionDef(*body, /*fn_name=*/"", effect, &function));
  return function;
}

}  // namespace tektite::tf_hook
