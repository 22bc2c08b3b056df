#include "runtime_hooks/tensorflow/hook/graph_pass/replace_cluster.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime_hooks/tensorflow/hook/fallback/fallback_body.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/cluster_attributes.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/cluster_boundary.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/cluster_order.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/compiler_marking.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/kept_loops.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/variable_types.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/whole_calls.h"
#include "runtime_hooks/tensorflow/hook/run/cluster_op.h"
#include "runtime_hooks/tensorflow/hook/run/counters.h"
#include "tensorflow/core/common_runtime/device_set.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow/core/lib/strings/proto_serialization.h"
#include "tensorflow/core/util/util.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::DataType;
using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

// Reason::NONE, or why these nodes cannot be taken out of the graph.
Reason CheckNodes(const std::vector<Node*>& nodes, Place place) {
  const std::string& device = nodes.front()->assigned_device_name();
  if (place == Place::kElsewhere) return Reason::HOST_DEVICE;
  for (const Node* node : nodes) {
    if (node->assigned_device_name() != device) return Reason::HOST_DEVICE;
    if (node->IsArg() || node->IsRetval() || node->IsControlFlow() || node->IsSend() ||
        node->IsRecv()) {
      return Reason::HOST_CONTROL_FLOW;
    }
    for (const DataType type : node->output_types()) {
      if (tensorflow::IsRefType(type)) return Reason::HOST_REF_TYPE;
    }
    for (const DataType type : node->input_types()) {
      if (tensorflow::IsRefType(type)) return Reason::HOST_REF_TYPE;
    }
  }
  return Reason::NONE;
}

// A copy for the body.  Devices and colocations speak of the graph outside; _XlaCompile=false keeps
// XLA and ourselves from compiling the fallback function, which exists because we could not.
NodeDef BodyDef(const Node& node) {
  NodeDef def = node.def();
  def.clear_device();
  def.clear_input();
  def.mutable_attr()->erase("_class");
  def.mutable_attr()->erase("_XlaScope");
  def.mutable_attr()->erase("_XlaInternalScope");
  tensorflow::AddNodeAttr("_XlaCompile", false, &def);
  return def;
}

NodeDef EndDef(const char* op, const std::string& name, int index, DataType type) {
  NodeDef def;
  def.set_name(name);
  def.set_op(op);
  tensorflow::AddNodeAttr("T", type, &def);
  tensorflow::AddNodeAttr("index", index, &def);
  return def;
}

bool IsListed(const Node& node, const char* attribute, int index) {
  std::vector<int> list;
  return tensorflow::GetNodeAttr(node.attrs(), attribute, &list).ok() &&
         std::find(list.begin(), list.end(), index) != list.end();
}

// Whether a node of the graph writes this variable, as a training step does: a result computed from
// its value alone serves one call, so the compiler must not arrange for keeping it.
bool IsUpdated(const Endpoint& variable, const tensorflow::FunctionLibraryDefinition& functions) {
  for (const Edge* edge : variable.first->out_edges()) {
    if (edge->src_output() != variable.second) continue;
    if (IsAssigned(*edge->dst(), edge->dst_input(), functions)) return true;
    const std::string& op = edge->dst()->type_string();
    if (op == "TektiteCluster" && IsListed(*edge->dst(), "updated_inputs", edge->dst_input())) {
      return true;
    }
  }
  return false;
}

absl::Status BuildBody(const std::vector<Node*>& nodes, const Boundary& boundary,
                       const Graph& graph, const tensorflow::FunctionLibraryDefinition& functions,
                       Graph* body) {
  body->set_versions(graph.versions());
  absl::flat_hash_map<const Node*, Node*> copy_of;
  const auto add = [&](NodeDef def) { return body->AddNode(std::move(def)); };
  std::vector<Node*> args;
  for (size_t i = 0; i < boundary.inputs.size(); ++i) {
    const Endpoint& input = boundary.inputs[i];
    NodeDef def = EndDef("_Arg", body->NewName("tektite_arg"), static_cast<int>(i), TypeOf(input));
    if (input.first->IsArg()) {  // what tf.function knows of its arguments' shapes
      for (const char* known : {"_output_shapes", "_handle_dtypes", "_handle_shapes"}) {
        const tensorflow::AttrValue* value = input.first->attrs().Find(known);
        if (value != nullptr) tensorflow::AddNodeAttr(known, *value, &def);
      }
    }
    if (TypeOf(input) == tensorflow::DT_RESOURCE && IsUpdated(input, functions)) {
      tensorflow::AddNodeAttr("_tektite_updated", true, &def);
    }
    TF_ASSIGN_OR_RETURN(Node* const arg, add(std::move(def)));
    args.push_back(arg);
  }
  for (const Node* constant : boundary.copied_constants) {
    TF_ASSIGN_OR_RETURN(copy_of[constant], add(BodyDef(*constant)));
  }
  for (const Node* node : nodes) {
    TF_ASSIGN_OR_RETURN(copy_of[node], add(BodyDef(*node)));
  }
  const NodeSet inside(nodes.begin(), nodes.end());
  const auto wait_as = [&](const Node& node) {
    for (const Node* wait : Waits(node, inside)) {
      if (inside.count(wait) != 0) body->AddControlEdge(copy_of[wait], copy_of[&node]);
    }
  };
  // A constant that waits for an assignment makes its readers wait.
  for (const Node* constant : boundary.copied_constants) wait_as(*constant);
  for (const Node* node : nodes) {
    wait_as(*node);
    Node* const copy = copy_of[node];
    for (const Edge* edge : node->in_edges()) {
      if (edge->IsControlEdge()) continue;
      const auto source = copy_of.find(edge->src());
      if (source != copy_of.end()) {
        body->AddEdge(source->second, edge->src_output(), copy, edge->dst_input());
      } else {
        const int index = boundary.input_index.at({edge->src(), edge->src_output()});
        body->AddEdge(args[index], 0, copy, edge->dst_input());
      }
    }
  }
  for (size_t i = 0; i < boundary.outputs.size(); ++i) {
    TF_ASSIGN_OR_RETURN(Node* const retval,
                        add(EndDef("_Retval", body->NewName("tektite_retval"), static_cast<int>(i),
                                   TypeOf(boundary.outputs[i]))));
    body->AddEdge(copy_of[boundary.outputs[i].first], boundary.outputs[i].second, retval, 0);
  }
  tensorflow::FixupSourceAndSinkEdges(body);
  return absl::OkStatus();
}

// The node of the cluster's first result, as one that users know.
const std::string& ShownName(const Boundary& boundary, const Node& otherwise) {
  return boundary.outputs.empty() ? otherwise.name() : boundary.outputs.front().first->name();
}

// Whether the op's kernel quotes the name of what feeds it in its messages.
bool QuotesItsInput(const Node& node) { return node.type_string() == "EnsureShape"; }

// An Identity with the name of a node that the cluster replaces, in front of readers that quote it.
Node* StandInFor(const Node& node, Node* cluster, int output, DataType type, Graph* graph) {
  NodeDef def;
  def.set_name(node.name());
  def.set_op("Identity");
  def.set_device(cluster->assigned_device_name());
  tensorflow::AddNodeAttr("T", type, &def);
  tensorflow::AddNodeAttr("_XlaCompile", false, &def);
  absl::StatusOr<Node*> added = graph->AddNode(std::move(def));
  if (!added.ok()) return nullptr;
  (*added)->set_assigned_device_name(cluster->assigned_device_name());
  graph->AddEdge(cluster, output, *added, 0);
  return *added;
}

// A cluster's name is for people, and may have any letters; a node's and a function's may not.
std::string NameForNodes(std::string name) {
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  }
  return name;
}

NodeDef ClusterDef(const std::string& name, const std::string& node_name,
                   const std::string& function_name, const std::string& body_bytes,
                   const Boundary& boundary, Place place, const NodeSet& inside, const Node& model,
                   const tensorflow::FunctionLibraryDefinition& functions) {
  const auto is_on_host = [&](const Endpoint& endpoint) {
    return place == Place::kCard && IsOnHost(endpoint);
  };
  std::vector<DataType> input_types, host_input_types, output_types, host_output_types;
  std::vector<DataType> variable_types;
  for (size_t i = 0; i < boundary.inputs.size(); ++i) {
    const Endpoint& input = boundary.inputs[i];
    (is_on_host(input) ? host_input_types : input_types).push_back(TypeOf(input));
    variable_types.push_back(TypeOf(input) == tensorflow::DT_RESOURCE
                                 ? VariableType(*input.first, input.second, inside, functions)
                                 : tensorflow::DT_RESOURCE);
  }
  for (const Endpoint& output : boundary.outputs) {
    (is_on_host(output) ? host_output_types : output_types).push_back(TypeOf(output));
  }
  tensorflow::NameAttrList function;
  function.set_name(function_name);

  NodeDef def;
  def.set_name(node_name);
  def.set_op("TektiteCluster");
  def.set_device(model.assigned_device_name());
  tensorflow::AddNodeAttr("maker", MakersMark(), &def);
  tensorflow::AddNodeAttr("Tin", input_types, &def);
  tensorflow::AddNodeAttr("Tin_host", host_input_types, &def);
  tensorflow::AddNodeAttr("Tout", output_types, &def);
  tensorflow::AddNodeAttr("Tout_host", host_output_types, &def);
  tensorflow::AddNodeAttr("variable_types", variable_types, &def);
  tensorflow::AddNodeAttr("constant_inputs", boundary.constant_inputs, &def);
  tensorflow::AddNodeAttr("updated_inputs", boundary.updated_inputs, &def);
  tensorflow::AddNodeAttr("cluster_name", name, &def);
  tensorflow::AddNodeAttr("fallback", function, &def);
  tensorflow::AddNodeAttr("_XlaCompile", false, &def);
  (*def.mutable_attr())["body"].set_s(body_bytes);
  tensorflow::AddNodeAttr("_tektite_shown_as", ShownName(boundary, model), &def);
  return def;
}

// Colocation with a node that is gone means nothing, and some later readers look the node up.
void ForgetColocations(const absl::flat_hash_set<std::string>& gone, Graph* graph) {
  for (Node* node : graph->op_nodes()) {
    const tensorflow::AttrValue* value = node->attrs().Find("_class");
    if (value == nullptr) continue;
    std::vector<std::string> kept;
    for (const std::string& entry : value->list().s()) {
      if (gone.count(entry) == 0) kept.push_back(entry);
    }
    if (static_cast<int>(kept.size()) == value->list().s_size()) continue;
    node->ClearAttr("_class");
    if (!kept.empty()) node->AddAttr("_class", kept);
  }
}

void Splice(const std::vector<Node*>& nodes, const NodeSet& inside, const Boundary& boundary,
            Node* cluster, Graph* graph) {
  for (size_t i = 0; i < boundary.inputs.size(); ++i) {
    graph->AddEdge(boundary.inputs[i].first, boundary.inputs[i].second, cluster,
                   static_cast<int>(i));
  }
  for (Node* source : boundary.control_inputs) graph->AddControlEdge(source, cluster);
  for (Node* destination : boundary.control_outputs) graph->AddControlEdge(cluster, destination);
  NodeSet named;  // a name is given once
  for (size_t i = 0; i < boundary.outputs.size(); ++i) {
    std::vector<const Edge*> leaving;
    for (const Edge* edge : boundary.outputs[i].first->out_edges()) {
      if (edge->src_output() == boundary.outputs[i].second && inside.count(edge->dst()) == 0) {
        leaving.push_back(edge);
      }
    }
    Node* stand_in = nullptr;
    for (const Edge* edge : leaving) {
      Node* const reader = edge->dst();
      const int input = edge->dst_input();
      graph->RemoveEdge(edge);
      const bool is_quoted = QuotesItsInput(*reader);
      if (is_quoted && named.insert(boundary.outputs[i].first).second) {
        stand_in = StandInFor(*boundary.outputs[i].first, cluster, static_cast<int>(i),
                              TypeOf(boundary.outputs[i]), graph);
      }
      if (is_quoted && stand_in != nullptr) {
        graph->AddEdge(stand_in, 0, reader, input);
      } else {
        graph->AddEdge(cluster, static_cast<int>(i), reader, input);
      }
    }
  }
  for (Node* node : nodes) graph->RemoveNode(node);
}

// Fused kernels of oneDNN and of TensorFlow differ in what becomes of NaN, and the compiler follows
// those that would run here.  oneDNN's take 16-bit floats only where TensorFlow then fuses at all.
// Kernels of quantized types round in other ways.
void NoteKernels(tensorflow::GraphDef* def) {
  if (tensorflow::IsMKLEnabled()) return;
  for (NodeDef& node : *def->mutable_node()) {
    if (absl::StartsWith(node.op(), "_Fused") || absl::StartsWith(node.op(), "Quantize")) {
      tensorflow::AddNodeAttr("_tektite_without_onednn", true, &node);
    }
  }
}

// Some random numbers depend on how many threads the CPU's kernels have.
void NoteThreads(int64_t threads, tensorflow::GraphDef* def) {
  const auto note = [threads](NodeDef* node) {
    if (node->op() == "StatelessMultinomial") {
      tensorflow::AddNodeAttr("_tektite_threads", threads, node);
    }
  };
  for (NodeDef& node : *def->mutable_node()) note(&node);
  for (tensorflow::FunctionDef& function : *def->mutable_library()->mutable_function()) {
    for (NodeDef& node : *function.mutable_node_def()) note(&node);
  }
}

// Of the CPU of that name; 0 for other devices.
int64_t ThreadsOf(const tensorflow::DeviceSet* devices, const std::string& name) {
  const tensorflow::Device* const device =
      devices == nullptr ? nullptr : devices->FindDeviceByName(name);
  if (device == nullptr || device->device_type() != tensorflow::DEVICE_CPU) return 0;
  const auto* const pool = device->tensorflow_cpu_worker_threads();
  return pool == nullptr ? 0 : pool->num_threads;
}

// For the fallback, which must be the graph that TensorFlow would have run.
void LowerLoopsOfBody(const std::string& device,
                      const tensorflow::GraphOptimizationPassOptions& options,
                      std::unique_ptr<Graph>* body) {
  const std::vector<Node*> loops = KeptLoops(**body);
  for (Node* loop : loops) loop->set_assigned_device_name(device);
  tensorflow::GraphOptimizationPassOptions lowering = options;
  lowering.graph = body;
  LowerLoops(loops, lowering);
  for (Node* node : (*body)->op_nodes()) {
    node->set_requested_device("");
    node->set_assigned_device_name("");
  }
}

// Null when it cannot be made.
std::shared_ptr<const ClusterBody> MakeBody(
    const std::vector<Node*>& nodes, const Boundary& boundary,
    const tensorflow::GraphOptimizationPassOptions& options) {
  auto body = std::make_unique<Graph>(tensorflow::OpRegistry::Global());
  if (!BuildBody(nodes, boundary, **options.graph, *options.flib_def, body.get()).ok())
    return nullptr;
  tensorflow::GraphDef def;
  body->ToGraphDef(&def, /*include_flib_def=*/false);
  NoteKernels(&def);
  if (RunsFunctions(*body)) {
    *def.mutable_library() = FunctionsRun(*body, *options.flib_def);
    LowerLoopsOfBody(nodes.front()->assigned_device_name(), options, &body);
  }
  NoteThreads(ThreadsOf(options.device_set, nodes.front()->assigned_device_name()), &def);
  auto made = std::make_shared<ClusterBody>();
  made->holds_xla_calls = HoldsXlaCalls(def);
  // The same bytes each time, since they are keys (prepared_cluster.h).
  if (!tensorflow::SerializeToStringDeterministic(def, &made->bytes)) return nullptr;
  FallbackRequest request;
  request.device = nodes.front()->assigned_device_name();
  request.constant_inputs = boundary.constant_inputs;
  request.pass_options = &options;
  absl::StatusOr<tensorflow::FunctionDef> fallback = FallbackFunction(std::move(body), request);
  if (!fallback.ok()) return nullptr;
  made->fallback = *std::move(fallback);
  return made;
}

}  // namespace

Reason ClusterReplacer::Replace(const std::string& name, std::vector<Node*> nodes,
                                std::shared_ptr<const ClusterBody>* body) {
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                             [](const Node* node) { return IsLargeConstant(*node); }),
              nodes.end());
  if (nodes.empty()) return Reason::HOST_EMPTY_CLUSTER;
  std::sort(nodes.begin(), nodes.end(),
            [](const Node* a, const Node* b) { return a->id() < b->id(); });
  const CompilerLibrary* const library = CompilerLibrary::IfOpen();
  if (library == nullptr) return Reason::HOST_NO_CLUSTER;
  const Place place = PlaceOf(*library, nodes.front()->assigned_device_name(), options_.device_set);
  const Reason refusal = CheckNodes(nodes, place);
  if (refusal != Reason::NONE) return refusal;
  const NodeSet inside(nodes.begin(), nodes.end());
  if (MakesCycle(nodes, inside)) return Reason::HOST_CYCLE;

  Boundary boundary = FindBoundary(nodes, inside, *options_.flib_def);
  if (place == Place::kCard) SortByMemory(&boundary);
  if (*body == nullptr) *body = MakeBody(nodes, boundary, options_);
  if (*body == nullptr) return Reason::HOST_BODY;

  // Kernels of stateful nodes are shared by name within a session, so no two clusters of a process
  // may have one name, though they may be called alike in reports.
  static std::atomic<int64_t> serial{0};
  const std::string unique = absl::StrCat(NameForNodes(name), "_", serial.fetch_add(1));
  tensorflow::FunctionDef fallback = (*body)->fallback;
  const std::string fallback_name = absl::StrCat("__tektite_fallback_", unique, "_", getpid());
  fallback.mutable_signature()->set_name(fallback_name);
  NodeDef def =
      ClusterDef(name, graph_->NewName(absl::StrCat("tektite/", unique)), fallback_name,
                 (*body)->bytes, boundary, place, inside, *nodes.front(), *options_.flib_def);
  const auto num_loops =
      std::count_if(nodes.begin(), nodes.end(), [](const Node* node) { return IsKept(*node); });
  if (num_loops > 0) tensorflow::AddNodeAttr("_tektite_kept_loops", num_loops, &def);
  if ((*body)->holds_xla_calls) tensorflow::AddNodeAttr("_tektite_xla_calls", true, &def);
  RegisterClusterOp();
  if (place == Place::kCard) RegisterClusterOpForCards();
  if (!options_.flib_def->AddFunctionDef(std::move(fallback)).ok()) return Reason::HOST_BODY;
  absl::StatusOr<Node*> cluster = graph_->AddNode(std::move(def));
  if (!cluster.ok()) return Reason::HOST_BODY;
  (*cluster)->set_assigned_device_name(nodes.front()->assigned_device_name());
  for (const Node* node : nodes) gone_.insert(absl::StrCat("loc:@", node->name()));
  copied_.insert(boundary.copied_constants.begin(), boundary.copied_constants.end());
  const auto num_xla_calls =
      std::count_if(nodes.begin(), nodes.end(), [](const Node* node) { return IsXlaCall(*node); });
  Splice(nodes, inside, boundary, *cluster, graph_);
  for (Node* node : nodes) copied_.erase(node);
  HookCounters().clusters_placed.fetch_add(1, std::memory_order_relaxed);
  HookCounters().kept_loops.fetch_add(num_loops, std::memory_order_relaxed);
  HookCounters().xla_calls.fetch_add(num_xla_calls, std::memory_order_relaxed);
  HookCounters().ops_placed.fetch_add(static_cast<int64_t>(nodes.size()),
                                      std::memory_order_relaxed);
  return Reason::NONE;
}

void ClusterReplacer::Finish() {
  if (gone_.empty()) return;
  for (Node* constant : copied_) {
    if (constant->out_edges().empty()) graph_->RemoveNode(constant);
  }
  ForgetColocations(gone_, graph_);
  tensorflow::FixupSourceAndSinkEdges(graph_);
}

}  // namespace tektite::tf_hook
