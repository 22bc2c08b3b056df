#include "runtime_hooks/tensorflow/hook/graph_pass/kept_loops.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/common_runtime/device_set.h"
#include "tensorflow/core/common_runtime/lower_functional_ops.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/graph_to_functiondef.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow/core/grappler/optimizers/meta_optimizer.h"
#include "tensorflow/core/public/session_options.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::AttrValue;
using tensorflow::Edge;
using tensorflow::FunctionDef;
using tensorflow::Graph;
using tensorflow::GraphOptimizationPassOptions;
using tensorflow::LowerFunctionalOpsPass;
using tensorflow::Node;
using tensorflow::NodeDef;

constexpr char kKept[] = "_tektite_kept";
constexpr const char* kLower = LowerFunctionalOpsPass::kLowerUsingSwitchMergeAttr;

absl::Status RunLowering(const GraphOptimizationPassOptions& options,
                         std::unique_ptr<Graph>* graph) {
  GraphOptimizationPassOptions lowering = options;
  lowering.graph = graph;
  return LowerFunctionalOpsPass().Run(lowering);
}

// The node of GraphOf that waits for the loop.
std::string DoneName(const Node& loop) { return absl::StrCat(loop.name(), "_done"); }

// The edges of a loop that a function of it needs: one of each input's source, constants left out,
// and the outputs that something reads.
struct LoopEnds {
  std::vector<const Edge*> inputs;
  std::vector<int> outputs;
  bool is_waited_for = false;  // until all of it is done
};

LoopEnds EndsOf(const Node& loop) {
  LoopEnds ends;
  std::set<std::pair<const Node*, int>> sources;
  std::set<int> outputs;
  for (const Edge* edge : loop.in_edges()) {
    if (edge->IsControlEdge() || edge->src()->IsConstant()) continue;
    if (sources.emplace(edge->src(), edge->src_output()).second) ends.inputs.push_back(edge);
  }
  std::sort(ends.inputs.begin(), ends.inputs.end(),
            [](const Edge* a, const Edge* b) { return a->dst_input() < b->dst_input(); });
  ends.is_waited_for = loop.op_def().is_stateful();
  for (const Edge* edge : loop.out_edges()) {
    if (!edge->IsControlEdge()) {
      outputs.insert(edge->src_output());
    } else if (!edge->dst()->IsSink()) {
      ends.is_waited_for = true;
    }
  }
  ends.outputs.assign(outputs.begin(), outputs.end());
  return ends;
}

// What a loop says of a value that it carries holds for what comes in, too.
void KnowShape(const Node& loop, int input, Node* arg) {
  std::vector<tensorflow::PartialTensorShape> shapes;
  if (loop.input_type(input) == tensorflow::DT_RESOURCE ||
      !tensorflow::GetNodeAttr(loop.attrs(), "output_shapes", &shapes).ok() ||
      static_cast<size_t>(input) >= shapes.size()) {
    return;
  }
  arg->AddAttr("_output_shapes", std::vector<tensorflow::PartialTensorShape>{shapes[input]});
}

// A graph of one loop between _Arg and _Retval nodes, and a NoOp where something waits for it.
// Taking the loop apart lets the NoOp wait for all that the loop has done: effects, too, which
// results may come before.  Constants are seen, and results that nothing reads or waits for are
// none, as Grappler would have seen it: what is carried for them alone goes (metropolis of
// bench/shipped runs 25,404 nodes, 38,517 otherwise).
absl::StatusOr<std::unique_ptr<Graph>> GraphOf(const Node& loop, const LoopEnds& ends,
                                               const GraphOptimizationPassOptions& options) {
  auto graph = std::make_unique<Graph>(*options.flib_def);
  graph->set_versions((*options.graph)->versions());
  const auto add_end = [&](const char* op, size_t index, tensorflow::DataType type) {
    NodeDef def;
    def.set_name(absl::StrCat(loop.name(), op, "_", index));
    def.set_op(op);
    tensorflow::AddNodeAttr("T", type, &def);
    tensorflow::AddNodeAttr("index", static_cast<int>(index), &def);
    return graph->AddNode(std::move(def));
  };
  NodeDef def = loop.def();
  def.clear_input();
  def.mutable_attr()->erase("_class");
  TF_ASSIGN_OR_RETURN(Node* const copy, graph->AddNode(std::move(def)));
  std::map<std::pair<const Node*, int>, Node*> sources;
  for (size_t i = 0; i < ends.inputs.size(); ++i) {
    const Edge& edge = *ends.inputs[i];
    TF_ASSIGN_OR_RETURN(Node* const arg, add_end("_Arg", i, loop.input_type(edge.dst_input())));
    if (loop.IsWhileNode()) KnowShape(loop, edge.dst_input(), arg);
    sources[{edge.src(), edge.src_output()}] = arg;
  }
  for (const Edge* edge : loop.in_edges()) {
    if (edge->IsControlEdge()) continue;
    Node*& source = sources[{edge->src(), edge->src_output()}];
    if (source == nullptr) {
      NodeDef constant = edge->src()->def();
      constant.set_name(absl::StrCat(loop.name(), "_constant_", edge->dst_input()));
      constant.clear_input();
      constant.mutable_attr()->erase("_class");
      TF_ASSIGN_OR_RETURN(source, graph->AddNode(std::move(constant)));
    }
    graph->AddEdge(source, 0, copy, edge->dst_input());
  }
  for (size_t i = 0; i < ends.outputs.size(); ++i) {
    const int output = ends.outputs[i];
    TF_ASSIGN_OR_RETURN(Node* const retval, add_end("_Retval", i, loop.output_type(output)));
    graph->AddEdge(copy, output, retval, 0);
  }
  if (ends.is_waited_for) {
    NodeDef done;
    done.set_name(DoneName(loop));
    done.set_op("NoOp");
    TF_ASSIGN_OR_RETURN(Node* const waits, graph->AddNode(std::move(done)));
    graph->AddControlEdge(copy, waits);
  }
  tensorflow::FixupSourceAndSinkEdges(graph.get());
  return graph;
}

// As TensorFlow does with the graph of a function. `done`: a node that must stay, where it is
// there.
absl::Status Optimize(const std::string& device, const std::string& done,
                      const GraphOptimizationPassOptions& options, std::unique_ptr<Graph>* graph) {
  std::vector<std::string> results, kept;
  for (Node* node : (*graph)->op_nodes()) {
    node->set_requested_device(device);
    node->set_assigned_device_name(device);
    if (node->IsRetval()) results.push_back(node->name());
    if (node->IsArg() || node->name() == done) kept.push_back(node->name());
  }
  tensorflow::Device* const cpu =
      options.device_set == nullptr ? nullptr : options.device_set->FindDeviceByName(device);
  if (cpu == nullptr || options.session_options == nullptr ||
      !tensorflow::grappler::MetaOptimizerEnabled(options.session_options->config)) {
    return absl::OkStatus();
  }
  tensorflow::grappler::GrapplerItem::OptimizationOptions optimization;
  optimization.allow_pruning_stateful_and_dataset_ops = false;
  optimization.is_eager_mode = true;
  optimization.optimize_function_library = false;
  tensorflow::FunctionLibraryDefinition functions(*options.flib_def);
  return tensorflow::grappler::OptimizeGraph(
      std::move(results), std::move(kept), &functions, *options.device_set, cpu,
      options.session_options->config, "tektite_loop", optimization, graph);
}

// The loop taken apart, as a function of its inputs.
absl::StatusOr<FunctionDef> LoweredFunction(const Node& loop, const LoopEnds& ends,
                                            const GraphOptimizationPassOptions& options) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, GraphOf(loop, ends, options));
  TF_RETURN_IF_ERROR(RunLowering(options, &graph));
  const std::string done = DoneName(loop);
  TF_RETURN_IF_ERROR(Optimize(loop.assigned_device_name(), done, options, &graph));
  // What waits for the call waits for this node.
  const auto waited_for = [&](const Node* node) -> absl::optional<std::string> {
    if (node->name() != done) return absl::nullopt;
    return done;
  };
  static std::atomic<int64_t> serial{0};
  FunctionDef function;
  TF_RETURN_IF_ERROR(tensorflow::GraphToFunctionDef(
      *graph, absl::StrCat("__tektite_loop_", serial.fetch_add(1), "_", getpid()), waited_for,
      &function));
  return function;
}

// A call that the lowering puts the function's body in the place of.
absl::Status ReplaceByCall(Node* loop, const LoopEnds& ends, const std::string& function,
                           Graph* graph) {
  std::vector<tensorflow::DataType> input_types, output_types;
  for (const Edge* edge : ends.inputs) input_types.push_back(loop->input_type(edge->dst_input()));
  for (const int output : ends.outputs) output_types.push_back(loop->output_type(output));
  NodeDef def;
  def.set_name(loop->name());
  def.set_op("StatefulPartitionedCall");
  def.set_device(loop->requested_device());
  tensorflow::AddNodeAttr("Tin", input_types, &def);
  tensorflow::AddNodeAttr("Tout", output_types, &def);
  (*def.mutable_attr())["f"].mutable_func()->set_name(function);
  tensorflow::AddNodeAttr(LowerFunctionalOpsPass::kLowerAsMultiDeviceFunctionAttr, true, &def);
  TF_ASSIGN_OR_RETURN(Node* const call, graph->AddNode(std::move(def)));
  call->set_assigned_device_name(loop->assigned_device_name());
  for (size_t i = 0; i < ends.inputs.size(); ++i) {
    graph->AddEdge(ends.inputs[i]->src(), ends.inputs[i]->src_output(), call, static_cast<int>(i));
  }
  for (const Edge* edge : loop->in_edges()) {
    if (edge->IsControlEdge()) graph->AddControlEdge(edge->src(), call);
  }
  const std::vector<const Edge*> out(loop->out_edges().begin(), loop->out_edges().end());
  for (const Edge* edge : out) {
    Node* const reader = edge->dst();
    const int input = edge->dst_input();
    int output = edge->src_output();
    if (!edge->IsControlEdge()) {
      const auto found = std::lower_bound(ends.outputs.begin(), ends.outputs.end(), output);
      output = static_cast<int>(found - ends.outputs.begin());
    }
    graph->RemoveEdge(edge);
    graph->AddEdge(call, output, reader, input);
  }
  graph->RemoveNode(loop);
  return absl::OkStatus();
}

}  // namespace

bool IsToBeLowered(tensorflow::AttrSlice attributes) {
  const AttrValue* const lower = attributes.Find(kLower);
  return lower != nullptr && lower->b();
}

bool IsKept(const Node& node) {
  return (node.IsWhileNode() || node.IsIfNode() || node.IsCaseNode()) &&
         node.attrs().Find(kKept) != nullptr;
}

void Keep(Node* node) {
  node->ClearAttr(kLower);
  node->AddAttr(kLower, false);
  node->AddAttr(kKept, true);
}

void Keep(NodeDef* node) {
  (*node->mutable_attr())[kLower].set_b(false);
  (*node->mutable_attr())[kKept].set_b(true);
}

std::vector<Node*> KeptLoops(const Graph& graph) {
  std::vector<Node*> loops;
  for (Node* node : graph.op_nodes()) {
    if (IsKept(*node)) loops.push_back(node);
  }
  return loops;
}

void LowerLoops(const std::vector<Node*>& loops, const GraphOptimizationPassOptions& options) {
  if (loops.empty()) return;
  Graph* const graph = options.graph->get();
  const std::string device = loops.front()->assigned_device_name();
  std::vector<std::string> added;
  for (Node* loop : loops) {
    loop->ClearAttr(kKept);
    loop->ClearAttr(kLower);
    loop->AddAttr(kLower, true);
    const LoopEnds ends = EndsOf(*loop);
    absl::StatusOr<FunctionDef> function = LoweredFunction(*loop, ends, options);
    if (!function.ok()) continue;
    const std::string name = function->signature().name();
    if (!options.flib_def->AddFunctionDef(*std::move(function)).ok()) continue;
    added.push_back(name);
    ReplaceByCall(loop, ends, name, graph).IgnoreError();
  }
  RunLowering(options, options.graph).IgnoreError();
  for (const std::string& name : added) options.flib_def->RemoveFunction(name).IgnoreError();
  for (Node* node : graph->op_nodes()) {
    if (!node->assigned_device_name().empty()) continue;
    node->set_assigned_device_name(node->requested_device().empty() ? device
                                                                    : node->requested_device());
  }
  tensorflow::FixupSourceAndSinkEdges(graph);
}

}  // namespace tektite::tf_hook
