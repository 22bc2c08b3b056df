#include "runtime_hooks/tensorflow/hook/fallback/marked_fallback.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
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
  LowerLoops(KeptLoops(*graph), options);
  CompileGraph(options, Extent::kEverything, /*rebuilds_loops=*/false);
  for (Node* node : graph->op_nodes()) {
    node->set_requested_device("");
    node->set_assigned_device_name("");
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
