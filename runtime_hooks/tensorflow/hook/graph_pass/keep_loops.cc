// The first pass of the hook: keeps functional loops and branches whole that the compiler can
// compile whole (kept_loops.h says what that means, and why).
//
// Where it stands: PRE_PLACEMENT, phase 9, ahead of the pass in phase 10 that takes loops apart and
// puts called functions in the places of their calls.  Loops in called functions count as well, and
// the functions are then copied, since others may call them, too:
//
//   before:  call 'c' of f, where f has a loop        after:  call 'c' of f_tektite_1a2b, where the
//                                                             loop is kept
//
// The compiler is asked how it would mark the graph if all calls were taken apart; loops that are
// in a cluster then are kept.  Limits: loops in the bodies of loops that are not kept are not
// looked at.

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

constexpr int kPhase = 9;
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

  Loops Find(const tensorflow::Graph& graph) {
    Loops loops;
    for (const Node* node : graph.op_nodes()) {
      Visit(node->name(), node->type_string(), node->attrs(), 0, &loops);
    }
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

  Loops Behind(const std::string& function, int depth) {
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

  const FunctionLibraryDefinition& functions_;
  absl::flat_hash_map<std::string, Loops> known_;
};

using Names = absl::flat_hash_set<std::string_view>;

// Those whose names, behind their calls' as the compiler puts them together, are among `marked`.
Loops Only(const Loops& loops, const Names& marked, const std::string& prefix) {
  Loops left;
  for (const std::string& node : loops.nodes) {
    if (marked.contains(absl::StrCat(prefix, node))) left.nodes.push_back(node);
  }
  for (const auto& [call, behind] : loops.calls) {
    Loops kept = Only(behind, marked, absl::StrCat(prefix, call, "/"));
    if (!kept.empty()) left.calls.emplace_back(call, std::move(kept));
  }
  return left;
}

void SetCalledFunction(const std::string& name, NodeDef* call) {
  const auto function = call->mutable_attr()->find("f");
  if (function == call->mutable_attr()->end()) {
    call->set_op(name);
  } else {
    function->second.mutable_func()->set_name(name);
  }
}

// Adds a copy of the function in which the loops are kept, and returns its name. Equal copies have
// equal names.
absl::StatusOr<std::string> KeepIn(const std::string& function, const Loops& loops,
                                   FunctionLibraryDefinition* functions) {
  FunctionDef copy = *functions->Find(function);
  const Names kept(loops.nodes.begin(), loops.nodes.end());
  absl::flat_hash_map<std::string_view, const Loops*> behind;
  for (const auto& [call, in_call] : loops.calls) behind.emplace(call, &in_call);
  for (NodeDef& node : *copy.mutable_node_def()) {
    if (kept.contains(node.name())) Keep(&node);
    const auto call = behind.find(node.name());
    if (call == behind.end()) continue;
    const std::string called = CalledFunction(node.op(), AttrSlice(node), *functions);
    TF_ASSIGN_OR_RETURN(const std::string name, KeepIn(called, *call->second, functions));
    SetCalledFunction(name, &node);
  }
  std::string bytes;
  if (!tensorflow::SerializeToStringDeterministic(copy, &bytes)) {
    return absl::ResourceExhaustedError(function);
  }
  const std::string name =
      absl::StrCat(function, "_tektite_", absl::Hex(std::hash<std::string>()(bytes)));
  copy.mutable_signature()->set_name(name);
  TF_RETURN_IF_ERROR(functions->AddFunctionDef(std::move(copy)));
  return name;
}

// Of the whole graph; calls that cannot be changed stay as they are.
void KeepLoops(const Loops& loops, const GraphOptimizationPassOptions& options) {
  const Names kept(loops.nodes.begin(), loops.nodes.end());
  absl::flat_hash_map<std::string_view, const Loops*> behind;
  for (const auto& [call, in_call] : loops.calls) behind.emplace(call, &in_call);
  for (Node* node : (*options.graph)->op_nodes()) {
    if (kept.contains(node->name())) Keep(node);
    const auto call = behind.find(node->name());
    if (call == behind.end() || node->attrs().Find("f") == nullptr) continue;
    const AttrValue* const called = node->attrs().Find("f");
    absl::StatusOr<std::string> name =
        KeepIn(called->func().name(), *call->second, options.flib_def);
    if (!name.ok()) continue;
    AttrValue changed = *called;
    changed.mutable_func()->set_name(*name);
    node->ClearAttr("f");
    node->AddAttr("f", changed);
  }
}

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
    const Loops loops = LoopFinder(*options.flib_def).Find(**options.graph);
    if (loops.empty() || !LowersLoops(options)) return absl::OkStatus();
    if (ExtentFor(options) != Extent::kEverything) return absl::OkStatus();
    const CompilerLibrary* const library = CompilerLibrary::Get();
    if (library == nullptr || library->flag(library->compiler, "keep_loops", 0) == 0) {
      return absl::OkStatus();
    }
    tensorflow::GraphDef graph_def;
    (*options.graph)->ToGraphDef(&graph_def, /*include_flib_def=*/false);
    *graph_def.mutable_library() =
        options.flib_def->ReachableDefinitions(**options.graph).ToProto();
    const Marking marking =
        Mark(*library, std::move(graph_def), Extent::kEverything, /*inlines_calls=*/true);
    if (marking == nullptr) return absl::OkStatus();
    Names marked;
    for (int cluster = 0; cluster < library->marking_num_clusters(marking.get()); ++cluster) {
      for (int i = 0; i < library->marking_num_nodes(marking.get(), cluster); ++i) {
        marked.insert(library->marking_node(marking.get(), cluster, i));
      }
    }
    KeepLoops(Only(loops, marked, ""), options);
    return absl::OkStatus();
  }
};

REGISTER_OPTIMIZATION(tensorflow::OptimizationPassRegistry::PRE_PLACEMENT, kPhase, KeepLoopsPass);

}  // namespace
}  // namespace tektite::tf_hook
