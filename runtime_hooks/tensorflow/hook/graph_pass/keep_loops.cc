// The first pass of the hook: keeps functional loops and branches whole that the compiler can
// compile whole (kept_loops.h says what that means, and why).
//
// Where it stands: PRE_PLACEMENT, phase 9, ahead of the pass in phase 10 that takes loops apart and
// puts called functions in the places of their calls.  Loops in called functions count as well, and
// the functions are then copied, since other nodes may call them, too, and a copy belongs to no
// group of functions that Grappler chooses from:
//
//   before:  call 'c' of f, where f has a loop        after:  call 'c' of f_tektite_1a2b, where the
//                                                             loop is kept
//
// The compiler is asked how it would mark the graph if all calls were taken apart; loops that are
// in a cluster then are kept.  Limits: loops in the bodies of loops that are not kept are not
// looked at.  Beside a card no loop is kept: TensorFlow would place it on the card as a whole, with
// nodes that have no kernel there and that it cannot place any more once the loop is taken apart.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/compiler_marking.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/kept_loops.h"
#include "runtime_hooks/tensorflow/hook/switches.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/lib/strings/proto_serialization.h"
#include "tensorflow/core/public/session_options.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::AttrSlice;
using tensorflow::AttrValue;
using tensorflow::FunctionDef;
using tensorflow::FunctionLibraryDefinition;
using tensorflow::GraphOptimizationPassOptions;
using tensorflow::Node;
using tensorflow::NodeDef;

constexpr int kBeforePlacementPhase = 9;
constexpr int kMostDepth = 32;  // of calls in calls

// The loops of a graph or a function, and those behind its calls.
struct Loops {
  std::vector<std::string> nodes;
  std::vector<std::pair<std::string, Loops>> calls;  // by the calling node

  bool empty() const { return nodes.empty() && calls.empty(); }
};

// "" where the node calls nothing that TensorFlow would put in its place.
std::string CalledFunction(const std::string& op, AttrSlice attributes,
                           const FunctionLibraryDefinition& functions) {
  const AttrValue* const xla = attributes.Find("_XlaMustCompile");
  if (xla != nullptr && xla->b()) return "";
  if (op != "PartitionedCall" && op != "StatefulPartitionedCall") {
    return functions.Contains(op) ? op : "";
  }
  const AttrValue* const function = attributes.Find("f");
  return function == nullptr ? "" : function->func().name();
}

class LoopFinder {
 public:
  explicit LoopFinder(const FunctionLibraryDefinition& functions) : functions_(functions) {}

  Loops FindIn(const tensorflow::Graph& graph) {
    Loops loops;
    for (const Node* node : graph.op_nodes()) {
      Visit(node->name(), node->type_string(), node->attrs(), 0, &loops);
    }
    return loops;
  }

  // Of a function, `depth` calls deep.
  Loops Behind(const std::string& function, int depth = 0) {
    if (const auto known = known_.find(function); known != known_.end()) return known->second;
    Loops loops;
    const FunctionDef* const def = functions_.Find(function);
    if (def == nullptr) return loops;
    for (const NodeDef& node : def->node_def()) {
      Visit(node.name(), node.op(), AttrSlice(node), depth + 1, &loops);
    }
    known_.emplace(function, loops);
    return loops;
  }

 private:
  void Visit(const std::string& name, const std::string& op, AttrSlice attributes, int depth,
             Loops* loops) {
    if (IsToBeLowered(attributes)) {
      loops->nodes.push_back(name);
      return;
    }
    const std::string called = CalledFunction(op, attributes, functions_);
    if (called.empty() || depth >= kMostDepth) return;
    Loops behind = Behind(called, depth);
    if (!behind.empty()) loops->calls.emplace_back(name, std::move(behind));
  }

  const FunctionLibraryDefinition& functions_;
  absl::flat_hash_map<std::string, Loops> known_;
};

// Grappler chooses among the functions of a group by the device that they are for, as those of
// Keras 2's LSTM are, and would put the original in the place of its copy. The copy is for the CPU
// and needs no choice. False: the original is for another device.
bool LeaveGroup(FunctionDef* function) {
  auto& attributes = *function->mutable_attr();
  if (attributes.erase("api_implements") == 0) return true;
  const auto device = attributes.find("api_preferred_device");
  return device == attributes.end() || device->second.s() == "CPU";
}

using Names = absl::flat_hash_set<std::string>;

void SetCalledFunction(const std::string& name, NodeDef* call) {
  const auto function = call->mutable_attr()->find("f");
  if (function == call->mutable_attr()->end()) {
    call->set_op(name);
  } else {
    function->second.mutable_func()->set_name(name);
  }
}

// Asks the compiler, and keeps the loops that it names in a graph and in copies of functions.
class Keeper {
 public:
  Keeper(const CompilerLibrary& library, const GraphOptimizationPassOptions& options)
      : library_(library), functions_(*options.flib_def), finder_(functions_), options_(options) {}

  void Run(const Loops& loops) {
    tensorflow::GraphDef graph_def;
    (*options_.graph)->ToGraphDef(&graph_def, /*include_flib_def=*/false);
    const Names marked = Marked(std::move(graph_def));
    const Names names(loops.nodes.begin(), loops.nodes.end());
    absl::flat_hash_map<std::string_view, const Loops*> behind;
    for (const auto& [call, in_call] : loops.calls) behind.emplace(call, &in_call);
    for (Node* node : (*options_.graph)->op_nodes()) {
      const auto call = behind.find(node->name());
      const Loops* const in_call = call == behind.end() ? nullptr : call->second;
      if (in_call == nullptr && !names.contains(node->name())) continue;
      NodeDef changed = node->def();
      const bool has_changed = in_call == nullptr ? ChangeLoop(marked, "", &changed)
                                                  : ChangeCall(*in_call, marked, "", &changed);
      if (!has_changed || changed.op() != node->type_string()) continue;
      for (const auto& [name, value] : changed.attr()) {
        node->ClearAttr(name);
        node->AddAttr(name, value);
      }
    }
  }

 private:
  // The nodes that the compiler would put into clusters if all calls were taken apart.
  Names Marked(tensorflow::GraphDef graph_def) {
    *graph_def.mutable_library() = functions_.ReachableDefinitions(graph_def).ToProto();
    const Marking marking =
        Mark(library_, std::move(graph_def), Extent::kEverything, {.inlines_calls = true});
    Names marked;
    if (marking == nullptr) return marked;
    for (const tektite_marked_cluster& cluster : ClustersOf(*marking)) {
      for (const tektite_marked_node& node : MembersOf(cluster)) marked.insert(node.name);
    }
    return marked;
  }

  // Both say whether anything has changed. `prefix`: what the compiler puts before a node's name.
  bool ChangeLoop(const Names& marked, const std::string& prefix, NodeDef* loop) {
    if (marked.contains(absl::StrCat(prefix, loop->name()))) {
      Keep(loop);
      return true;
    }
    bool has_changed = false;
    const auto change = [&](tensorflow::NameAttrList* function) {
      const std::string name = KeepInBody(function->name());
      has_changed |= name != function->name();
      function->set_name(name);
    };
    for (auto& [name, value] : *loop->mutable_attr()) {
      if (value.value_case() == AttrValue::kFunc) change(value.mutable_func());
      if (value.value_case() != AttrValue::kList) continue;
      for (auto& function : *value.mutable_list()->mutable_func()) change(&function);
    }
    return has_changed;
  }

  bool ChangeCall(const Loops& behind, const Names& marked, const std::string& prefix,
                  NodeDef* call) {
    const std::string called = CalledFunction(call->op(), AttrSlice(*call), functions_);
    const std::string name =
        KeepIn(called, behind, marked, absl::StrCat(prefix, call->name(), "/"));
    if (name == called) return false;
    SetCalledFunction(name, call);
    return true;
  }

  // The name of a copy of the function in which loops are kept; its own where none is.  Equal
  // copies have equal names.
  std::string KeepIn(const std::string& function, const Loops& loops, const Names& marked,
                     const std::string& prefix) {
    FunctionDef copy = *functions_.Find(function);
    const Names names(loops.nodes.begin(), loops.nodes.end());
    absl::flat_hash_map<std::string_view, const Loops*> behind;
    for (const auto& [call, in_call] : loops.calls) behind.emplace(call, &in_call);
    bool has_changed = false;
    for (NodeDef& node : *copy.mutable_node_def()) {
      if (names.contains(node.name())) has_changed |= ChangeLoop(marked, prefix, &node);
      const auto call = behind.find(node.name());
      if (call != behind.end()) has_changed |= ChangeCall(*call->second, marked, prefix, &node);
    }
    std::string bytes;
    if (!LeaveGroup(&copy)) return function;
    if (!has_changed || !tensorflow::SerializeToStringDeterministic(copy, &bytes)) return function;
    const std::string name =
        absl::StrCat(function, "_tektite_", absl::Hex(std::hash<std::string>()(bytes)));
    copy.mutable_signature()->set_name(name);
    return functions_.AddFunctionDef(std::move(copy)).ok() ? name : function;
  }

  // The same for a function of a loop that is not kept: it is a graph of its own.
  std::string KeepInBody(const std::string& function) {
    if (const auto known = bodies_.find(function); known != bodies_.end()) return known->second;
    bodies_.emplace(function, function);  // for one that runs itself
    const Loops loops = finder_.Behind(function);
    if (loops.empty()) return function;
    const std::string kept = KeepIn(function, loops, Marked(CallOf(function)), "body/");
    bodies_[function] = kept;
    return kept;
  }

  // A graph that calls the function by a node `body`.
  tensorflow::GraphDef CallOf(const std::string& function) {
    tensorflow::GraphDef graph_def;
    NodeDef call;
    call.set_name("body");
    call.set_op(function);
    for (const auto& argument : functions_.Find(function)->signature().input_arg()) {
      NodeDef* const arg = graph_def.add_node();
      arg->set_name(absl::StrCat("arg_", call.input_size()));
      arg->set_op("_Arg");
      tensorflow::AddNodeAttr("T", argument.type(), arg);
      tensorflow::AddNodeAttr("index", call.input_size(), arg);
      call.add_input(arg->name());
    }
    *graph_def.add_node() = std::move(call);
    return graph_def;
  }

  const CompilerLibrary& library_;
  FunctionLibraryDefinition& functions_;
  LoopFinder finder_;
  const GraphOptimizationPassOptions& options_;
  absl::flat_hash_map<std::string, std::string> bodies_;  // by function, what KeepInBody says
};

// Whether TensorFlow is going to take loops apart.
bool LowersLoops(const GraphOptimizationPassOptions& options) {
  if (options.session_options == nullptr) return true;
  const auto& experimental = options.session_options->config.experimental();
  return experimental.executor_type() != "SINGLE_THREADED_EXECUTOR" && !experimental.use_tfrt() &&
         !experimental.disable_functional_ops_lowering();
}

class KeepLoopsPass : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const GraphOptimizationPassOptions& options) override {
    // A graph without functions, as those of eager ops are, has no functional loops.
    if (options.graph == nullptr || *options.graph == nullptr || options.flib_def == nullptr ||
        options.flib_def->num_functions() == 0) {
      return absl::OkStatus();
    }
    const Loops loops = LoopFinder(*options.flib_def).FindIn(**options.graph);
    if (loops.empty() || !LowersLoops(options) || HasCards(options)) return absl::OkStatus();
    if (ExtentFor(options) != Extent::kEverything) return absl::OkStatus();
    const CompilerLibrary* const library = CompilerLibrary::Get();
    if (library == nullptr || library->flag(library->compiler, "keep_loops", 0) == 0) {
      return absl::OkStatus();
    }
    Keeper(*library, options).Run(loops);
    return absl::OkStatus();
  }
};

REGISTER_OPTIMIZATION(tensorflow::OptimizationPassRegistry::PRE_PLACEMENT, kBeforePlacementPhase,
                      KeepLoopsPass);

}  // namespace
}  // namespace tektite::tf_hook
