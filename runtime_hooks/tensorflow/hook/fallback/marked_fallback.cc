#include "runtime_hooks/tensorflow/hook/fallback/marked_fallback.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime_hooks/tensorflow/hook/fallback/fallback_body.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/compile_graph.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/kept_loops.h"
#include "tensorflow/core/common_runtime/device_set.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/public/session_options.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::FunctionDef;
using tensorflow::FunctionLibraryDefinition;
using tensorflow::Graph;
using tensorflow::Node;

// As the graph pass saw the nodes, before the body was made of them (replace_cluster.cc).
absl::StatusOr<std::unique_ptr<Graph>> ReadBody(const std::string& bytes, const std::string& device,
                                                FunctionLibraryDefinition* functions) {
  tensorflow::GraphDef def;
  if (!def.ParseFromString(bytes)) return absl::InvalidArgumentError("body: no graph");
  for (FunctionDef& function : *def.mutable_library()->mutable_function()) {
    if (functions->Contains(function.signature().name())) continue;
    TF_RETURN_IF_ERROR(functions->AddFunctionDef(std::move(function)));
  }
  def.clear_library();
  auto graph = std::make_unique<Graph>(*functions);
  tensorflow::GraphConstructorOptions options;
  options.allow_internal_ops = true;
  TF_RETURN_IF_ERROR(tensorflow::ConvertGraphDefToGraph(options, std::move(def), graph.get()));
  for (Node* node : graph->op_nodes()) {
    node->ClearAttr("_XlaCompile");
    node->set_assigned_device_name(device);
  }
  return graph;
}

// "node" of "Op 'node': why", "function/node" where it is a function's; empty where there is none.
absl::string_view RefusedName(absl::string_view refusal) {
  const size_t begin = refusal.find('\'');
  const size_t end = begin == refusal.npos ? begin : refusal.find("':", begin + 1);
  return end == refusal.npos ? absl::string_view() : refusal.substr(begin + 1, end - begin - 1);
}

bool RunsFunctionOf(const Node& node, absl::string_view name,
                    const FunctionLibraryDefinition& functions) {
  tensorflow::GraphDef alone;
  *alone.add_node() = node.def();
  for (const std::string& function : functions.ReachableDefinitions(alone).ListFunctionNames()) {
    if (absl::StartsWith(name, absl::StrCat(function, "/"))) return true;
  }
  return false;
}

// The node of the graph that is refused, or runs the function of the one that is; null: none.
Node* RefusedNode(const Graph& graph, absl::string_view refusal,
                  const FunctionLibraryDefinition& functions) {
  const absl::string_view name = RefusedName(refusal);
  if (name.empty()) return nullptr;
  const auto nodes = graph.op_nodes();
  for (Node* const node : nodes) {
    if (node->name() == name) return node;
  }
  for (Node* const node : nodes) {
    if (RunsFunctionOf(*node, name, functions)) return node;
  }
  return nullptr;
}

void LeaveOut(const Node& refused, const MarkedRequest& request, const Graph& graph) {
  for (Node* const node : graph.op_nodes()) {
    const bool is_alike = request.leaves_out_op && node->type_string() == refused.type_string();
    if (node == &refused || is_alike) node->AddAttr("_XlaCompile", false);
  }
}

}  // namespace

absl::StatusOr<std::string> AddMarkedFallback(const MarkedRequest& request,
                                              tensorflow::FunctionLibraryRuntime* runtime,
                                              FunctionLibraryDefinition* functions) {
  const std::string device = runtime->device()->name();
  TF_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, ReadBody(request.body, device, functions));
  tensorflow::DeviceSet devices;
  devices.AddDevice(runtime->device());
  tensorflow::SessionOptions session_options;
  if (runtime->config_proto() != nullptr) session_options.config = *runtime->config_proto();
  tensorflow::GraphOptimizationPassOptions options;
  options.graph = &graph;
  options.flib_def = functions;
  options.device_set = &devices;
  options.session_options = &session_options;
  options.is_function_graph = true;
  const std::vector<Node*> loops = KeptLoops(*graph);
  const Node* const refused = RefusedNode(*graph, request.refusal, *functions);
  if (refused != nullptr && !IsKept(*refused)) {
    LeaveOut(*refused, request, *graph);
  } else if (!loops.empty()) {
    LowerLoops(loops, options);
  } else {
    return absl::NotFoundError("no node to be left out");
  }
  CompileGraph(options, Extent::kEverything, /*rebuilds_loops=*/false);
  for (Node* node : graph->op_nodes()) {
    node->set_requested_device("");
    node->set_assigned_device_name("");
    if (node->type_string() == "TektiteCluster") node->AddAttr("_tektite_remade", true);
  }
  FallbackRequest fallback;
  fallback.device = device;
  fallback.constant_inputs = request.constant_inputs;
  fallback.pass_options = &options;
  TF_ASSIGN_OR_RETURN(FunctionDef function, FallbackFunction(std::move(graph), fallback));
  static std::atomic<int64_t> serial{0};
  const std::string name = absl::StrCat("__tektite_marked_", serial.fetch_add(1), "_", getpid());
  function.mutable_signature()->set_name(name);
  TF_RETURN_IF_ERROR(functions->AddFunctionDef(std::move(function)));
  return name;
}

}  // namespace tektite::tf_hook
