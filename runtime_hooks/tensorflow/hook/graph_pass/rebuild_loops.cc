#include "runtime_hooks/tensorflow/hook/graph_pass/rebuild_loops.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/compiler_marking.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/kept_loops.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/whole_calls.h"
#include "runtime_hooks/tensorflow/hook/run/counters.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/common_runtime/lower_functional_ops.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/algorithm.h"
#include "tensorflow/core/graph/control_flow.h"

namespace tensorflow {

// Of tensorflow/compiler/tf2xla/functionalize_while.h.  Null where the running TensorFlow does not
// export it.
[[gnu::weak]] absl::Status FunctionalizeWhileLoop(Graph* graph, FunctionLibraryDefinition* library,
                                                  const std::function<bool(const Node*)>& filter);

}  // namespace tensorflow

namespace tektite::tf_hook {
namespace {

using tensorflow::AttrValue;
using tensorflow::ControlFlowInfo;
using tensorflow::Edge;
using tensorflow::FunctionDef;
using tensorflow::FunctionLibraryDefinition;
using tensorflow::Graph;
using tensorflow::GraphOptimizationPassOptions;
using tensorflow::Node;
using tensorflow::NodeDef;

constexpr char kParallelTurns[] = "parallel_iterations";
constexpr int kMostRounds = 4;  // each leaves out the loops that the one before could not use

// A frame of the graph, whose nodes are those of a loop without the loops in it.
struct Frame {
  std::string parent;     // "": the loop is in no other
  std::string condition;  // the name of its LoopCond, which the While will have
  std::string device;
  bool is_left_out = false;
  int64_t parallel_turns = 10;         // how many may run at once; TensorFlow's default
  std::vector<std::string> waits_for;  // nodes by control edges to its Enter nodes
};

// The numbers of nodes with a state, by op: rebuilding must not lose any.
using Effects = std::map<std::string, int>;

bool HasReference(const Node& node) {
  const auto is_reference = [](tensorflow::DataType type) { return tensorflow::IsRefType(type); };
  return std::any_of(node.input_types().begin(), node.input_types().end(), is_reference) ||
         std::any_of(node.output_types().begin(), node.output_types().end(), is_reference);
}

// Whether TensorFlow made the node when it took a functional loop apart, whose nodes it names so.
// keep_loops.cc has seen that loop, and left it to TensorFlow.
bool WasFunctional(const Node& enter) { return absl::StrContains(enter.name(), "/enter/_"); }

bool IsOfLoweredLoop(const Node* node) { return node->IsEnter() && !WasFunctional(*node); }

// Whether the node must not be compiled: its annotation would be lost.
bool IsExcluded(const Node& node) {
  const AttrValue* const compile = node.attrs().Find("_XlaCompile");
  return compile != nullptr && !compile->b();
}

class Frames {
 public:
  // Of a graph whose nodes all hang on its source.
  absl::Status Find(const Graph& graph) {
    std::vector<ControlFlowInfo> infos;
    std::vector<std::string> unreachable;
    TF_RETURN_IF_ERROR(tensorflow::BuildControlFlowInfo(&graph, &infos, &unreachable));
    if (!unreachable.empty()) return absl::UnimplementedError("a node without a frame");
    for (const Node* node : graph.op_nodes()) {
      const ControlFlowInfo& info = infos[node->id()];
      if (info.frame_name.empty()) continue;
      frame_of_.emplace(node->name(), info.frame_name);
      Frame& frame = frames_[info.frame_name];
      frame.parent = infos[info.parent_frame->id()].frame_name;
      if (node->IsLoopCond()) frame.condition = node->name();
      if (frame.device.empty()) frame.device = node->assigned_device_name();
      frame.is_left_out |= node->IsEnter() && WasFunctional(*node);
      frame.is_left_out |=
          HasReference(*node) || IsExcluded(*node) || node->assigned_device_name() != frame.device;
      if (node->IsEnter()) NoteEntering(*node, &frame);
    }
    for (auto& [name, frame] : frames_) {
      if (frame.condition.empty()) LeaveOut(name);
    }
    // A loop is rebuilt with all that is in it.
    for (auto& [name, frame] : frames_) {
      if (frame.is_left_out) LeaveOut(name);
    }
    return absl::OkStatus();
  }

  // The loop, and those around it.
  void LeaveOut(std::string name) {
    while (!name.empty()) {
      Frame& frame = frames_[name];
      frame.is_left_out = true;
      name = frame.parent;
    }
  }

  // "" for a node outside of loops.
  std::string FrameOf(const std::string& node) const {
    const auto frame = frame_of_.find(node);
    return frame == frame_of_.end() ? "" : frame->second;
  }

  bool IsRebuilt(const std::string& name) const {
    const auto frame = frames_.find(name);
    return frame != frames_.end() && !frame->second.is_left_out;
  }

  // The loops that are rebuilt and in no other that is, by the name of the frame.
  std::vector<std::pair<std::string, Frame>> Outermost() const {
    std::vector<std::pair<std::string, Frame>> outermost;
    for (const auto& [name, frame] : frames_) {
      if (IsRebuilt(name) && !IsRebuilt(frame.parent)) outermost.emplace_back(name, frame);
    }
    return outermost;
  }

  // The loop whose While has this name; null where none has.
  const Frame* Named(const std::string& condition) const {
    for (const auto& [name, frame] : frames_) {
      if (frame.condition == condition && IsRebuilt(name)) return &frame;
    }
    return nullptr;
  }

  // What stands for the node in the frame `within` when the loops in that have been rebuilt.
  std::string StandIn(const std::string& node, const std::string& within) const {
    std::string name = FrameOf(node);
    std::string found = node;
    while (name != within && IsRebuilt(name)) {
      found = frames_.at(name).condition;
      name = frames_.at(name).parent;
    }
    return found;
  }

 private:
  static void NoteEntering(const Node& enter, Frame* frame) {
    const AttrValue* const turns = enter.attrs().Find(kParallelTurns);
    if (turns != nullptr) frame->parallel_turns = turns->i();
    for (const Edge* edge : enter.in_edges()) {
      // That a turn of the loop around has begun is no more than its arguments tell.
      const bool is_turn = edge->src()->IsMerge() || edge->src()->IsSwitch();
      if (edge->IsControlEdge() && edge->src()->IsOp() && !(is_turn && !frame->parent.empty())) {
        frame->waits_for.push_back(edge->src()->name());
      }
    }
  }

  std::map<std::string, Frame> frames_;
  absl::flat_hash_map<std::string, std::string> frame_of_;  // by node
};

void CountEffects(const Graph& graph, Effects* effects) {
  for (const Node* node : graph.op_nodes()) {
    const bool is_ours = node->IsWhileNode() || node->IsIfNode() || node->IsCaseNode();
    if (!is_ours && node->op_def().is_stateful()) ++(*effects)[node->type_string()];
  }
}

bool IsFunctionalControlFlow(const NodeDef& node) {
  return node.op() == "While" || node.op() == "StatelessWhile" || node.op() == "If" ||
         node.op() == "StatelessIf";
}

// Constants wait for a turn to begin, which is for an argument of its function.
void RemoveWaitingForArguments(FunctionDef* function) {
  absl::flat_hash_set<std::string> waits;
  for (const auto& argument : function->signature().input_arg()) {
    waits.insert(absl::StrCat("^", argument.name()));
  }
  for (NodeDef& node : *function->mutable_node_def()) {
    auto* const inputs = node.mutable_input();
    inputs->erase(std::remove_if(inputs->begin(), inputs->end(),
                                 [&](const std::string& input) { return waits.contains(input); }),
                  inputs->end());
  }
}

template <typename Change>
void ForEachFunction(NodeDef* node, const Change& change) {
  for (auto& [name, value] : *node->mutable_attr()) {
    if (value.value_case() == AttrValue::kFunc) change(value.mutable_func());
  }
}

// A copy of a graph in which loops are rebuilt.
class Rebuilt {
 public:
  Rebuilt(const GraphOptimizationPassOptions& options, const Frames& frames)
      : options_(options), frames_(frames), functions_(*options.flib_def) {}

  absl::Status Make() {
    graph_ = std::make_unique<Graph>(functions_);
    tensorflow::CopyGraph(**options_.graph, graph_.get());
    tensorflow::FixupSourceAndSinkEdges(graph_.get());
    const std::vector<std::string> before = functions_.ListFunctionNames();
    const auto filter = [this](const Node* node) {
      const std::string frame = frames_.FrameOf(node->name());
      return frame.empty() || frames_.IsRebuilt(frame);
    };
    TF_RETURN_IF_ERROR(tensorflow::FunctionalizeWhileLoop(graph_.get(), &functions_, filter));
    TF_RETURN_IF_ERROR(RenameFunctions({before.begin(), before.end()}));
    TF_RETURN_IF_ERROR(FinishLoops());
    tensorflow::FixupSourceAndSinkEdges(graph_.get());
    return CheckEffects();
  }

  // The conditions' names of loops that the compiler would not compile; all, where it cannot say.
  absl::flat_hash_set<std::string> Refused(const CompilerLibrary& library) const {
    tensorflow::GraphDef graph_def;
    graph_->ToGraphDef(&graph_def, /*include_flib_def=*/false);
    *graph_def.mutable_library() = FunctionsRun(*graph_, functions_);
    const Marking marking = Mark(library, std::move(graph_def), Extent::kEverything,
                                 {.is_function = options_.is_function_graph});
    absl::flat_hash_set<std::string> refused;
    for (const auto& [name, frame] : frames_.Outermost()) refused.insert(frame.condition);
    if (marking == nullptr) return refused;
    for (const tektite_marked_cluster& cluster : ClustersOf(*marking)) {
      for (const tektite_marked_node& node : MembersOf(cluster)) refused.erase(node.name);
    }
    return refused;
  }

  // Into the place of the graph that it is a copy of.
  bool Take() {
    for (const FunctionDef& function : added_) {
      if (!options_.flib_def->AddFunctionDef(function).ok()) return false;
    }
    *options_.graph = std::move(graph_);
    return true;
  }

 private:
  // Names that are free in every library of the process; inner loops and branches are to be taken
  // apart with those around them.
  absl::Status RenameFunctions(const absl::flat_hash_set<std::string>& before) {
    static std::atomic<int64_t> serial{0};
    const std::string prefix =
        absl::StrCat("__tektite_rebuilt_", serial.fetch_add(1), "_", getpid());
    const auto rename = [&](tensorflow::NameAttrList* function) {
      if (!before.contains(function->name())) {
        function->set_name(absl::StrCat(prefix, function->name()));
      }
    };
    for (const std::string& name : functions_.ListFunctionNames()) {
      if (before.contains(name)) continue;
      FunctionDef function = *functions_.Find(name);
      function.mutable_signature()->set_name(absl::StrCat(prefix, name));
      RemoveWaitingForArguments(&function);
      for (NodeDef& node : *function.mutable_node_def()) {
        if (!IsFunctionalControlFlow(node)) continue;
        TF_RETURN_IF_ERROR(FinishInnerLoop(function, &node));
        ForEachFunction(&node, rename);
        (*node.mutable_attr())[tensorflow::LowerFunctionalOpsPass::kLowerUsingSwitchMergeAttr]
            .set_b(true);
      }
      added_.push_back(std::move(function));
    }
    for (const FunctionDef& function : added_) {
      TF_RETURN_IF_ERROR(functions_.AddFunctionDef(function));
    }
    for (Node* node : graph_->op_nodes()) {
      if (!node->IsWhileNode()) continue;
      NodeDef changed = node->def();
      ForEachFunction(&changed, rename);
      for (const auto& [name, value] : changed.attr()) {
        if (value.value_case() != AttrValue::kFunc) continue;
        node->ClearAttr(name);
        node->AddAttr(name, value);
      }
    }
    return absl::OkStatus();
  }

  // A loop in a rebuilt one: see FinishLoops.
  absl::Status FinishInnerLoop(const FunctionDef& body, NodeDef* loop) const {
    const Frame* const frame = frames_.Named(loop->name());
    if (frame == nullptr) return absl::OkStatus();
    (*loop->mutable_attr())[kParallelTurns].set_i(frame->parallel_turns);
    absl::flat_hash_set<std::string> waits(loop->input().begin(), loop->input().end());
    for (const std::string& waited_for : frame->waits_for) {
      const std::string source = frames_.StandIn(waited_for, frame->parent);
      const bool is_here = std::any_of(body.node_def().begin(), body.node_def().end(),
                                       [&](const NodeDef& node) { return node.name() == source; });
      if (!is_here) return absl::UnimplementedError("a control edge of an inner loop is lost");
      const std::string input = absl::StrCat("^", source);
      if (source != loop->name() && waits.insert(input).second) loop->add_input(input);
    }
    return absl::OkStatus();
  }

  // FunctionalizeWhileLoop drops the control edges to Enter nodes and the number of turns at once,
  // and places no loop.
  absl::Status FinishLoops() {
    absl::flat_hash_map<std::string, Node*> by_name;
    for (Node* node : graph_->op_nodes()) by_name.emplace(node->name(), node);
    for (const auto& [name, frame] : frames_.Outermost()) {
      const auto loop = by_name.find(frame.condition);
      if (loop == by_name.end() || !loop->second->IsWhileNode()) {
        return absl::InternalError("a loop is missing");
      }
      loop->second->set_assigned_device_name(frame.device);
      loop->second->set_requested_device(frame.device);
      loop->second->ClearAttr(kParallelTurns);
      loop->second->AddAttr(kParallelTurns, frame.parallel_turns);
      Keep(loop->second);
      for (const std::string& waited_for : frame.waits_for) {
        const auto source = by_name.find(frames_.StandIn(waited_for, frame.parent));
        if (source == by_name.end()) return absl::InternalError("a control edge is lost");
        if (source->second != loop->second) {
          graph_->AddControlEdge(source->second, loop->second);
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckEffects() const {
    Effects before, after;
    CountEffects(**options_.graph, &before);
    CountEffects(*graph_, &after);
    for (const FunctionDef& function : added_) {
      for (const NodeDef& node : function.node_def()) {
        const tensorflow::OpDef* op = nullptr;
        TF_RETURN_IF_ERROR(functions_.LookUpOpDef(node.op(), &op));
        if (!IsFunctionalControlFlow(node) && op->is_stateful()) ++after[node.op()];
      }
    }
    if (before == after) return absl::OkStatus();
    return absl::UnimplementedError("nodes with effects would be lost");
  }

  const GraphOptimizationPassOptions& options_;
  const Frames& frames_;
  FunctionLibraryDefinition functions_;
  std::unique_ptr<Graph> graph_;
  std::vector<FunctionDef> added_;
};

absl::StatusOr<bool> TryToRebuild(const CompilerLibrary& library,
                                  const GraphOptimizationPassOptions& options) {
  Frames frames;
  TF_RETURN_IF_ERROR(frames.Find(**options.graph));
  for (int round = 0; round < kMostRounds; ++round) {
    const auto loops = frames.Outermost();
    if (loops.empty()) return false;
    Rebuilt rebuilt(options, frames);
    TF_RETURN_IF_ERROR(rebuilt.Make());
    const absl::flat_hash_set<std::string> refused = rebuilt.Refused(library);
    if (refused.empty()) {
      if (!rebuilt.Take()) return false;
      HookCounters().rebuilt_loops.fetch_add(static_cast<int64_t>(loops.size()),
                                             std::memory_order_relaxed);
      return true;
    }
    for (const auto& [name, frame] : loops) {
      if (refused.contains(frame.condition)) frames.LeaveOut(name);
    }
  }
  return false;
}

}  // namespace

bool HasLoweredLoops(const Graph& graph) {
  const auto nodes = graph.op_nodes();
  return std::any_of(nodes.begin(), nodes.end(), IsOfLoweredLoop);
}

bool RebuildLoops(const CompilerLibrary& library, const GraphOptimizationPassOptions& options) {
  if (&tensorflow::FunctionalizeWhileLoop == nullptr || HasCards(options)) return false;
  if (library.flag(library.compiler, "keep_loops", 0) == 0) return false;
  const absl::StatusOr<bool> is_rebuilt = TryToRebuild(library, options);
  if (is_rebuilt.ok()) return *is_rebuilt;
  VLOG(1) << "tektite: loops stay taken apart: " << is_rebuilt.status();
  HookCounters().unrebuilt_graphs.fetch_add(1, std::memory_order_relaxed);
  return false;
}

}  // namespace tektite::tf_hook
