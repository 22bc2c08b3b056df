#include "runtime_hooks/tensorflow/hook/graph_pass/compile_graph.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/compiler_marking.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/function_names.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/graph_text.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/kept_loops.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/ordered_loops.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/rebuild_loops.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/repeat_cache.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/replace_cluster.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/rewrite_node.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/whole_calls.h"
#include "runtime_hooks/tensorflow/hook/run/counters.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::Graph;
using tensorflow::GraphOptimizationPassOptions;
using tensorflow::Node;

// The nodes that are put into a graph: equal graphs get equal ones.
struct Replacement {
  struct Cluster {
    std::string name;
    std::vector<int> nodes;                   // places among the graph's op_nodes()
    std::map<int, std::string> rewritten;     // NodeDef bytes, by place
    std::shared_ptr<const ClusterBody> body;  // null until it has been made
  };
  std::vector<Cluster> clusters;
};

RepeatCache<Replacement>& Replacements() {
  static auto* const cache = new RepeatCache<Replacement>;  // outlives every thread that compiles
  return *cache;
}

// Without the bodies.
Replacement ToReplacement(const tektite_marking& marking, const std::vector<Node*>& nodes) {
  absl::flat_hash_map<std::string_view, int> place_by_name;
  for (size_t i = 0; i < nodes.size(); ++i) {
    place_by_name.emplace(nodes[i]->name(), static_cast<int>(i));
  }
  Replacement replacement;
  for (const tektite_marked_cluster& cluster : ClustersOf(marking)) {
    Replacement::Cluster& added = replacement.clusters.emplace_back();
    added.name = cluster.name;
    for (const tektite_marked_node& node : MembersOf(cluster)) {
      const auto it = place_by_name.find(node.name);
      if (it == place_by_name.end()) continue;
      added.nodes.push_back(it->second);
      if (node.rewritten == nullptr) continue;
      const auto* const bytes = static_cast<const char*>(node.rewritten);
      added.rewritten.emplace(it->second, std::string(bytes, node.rewritten_size));
    }
  }
  return replacement;
}

// Members of clusters become what the marking has made of them.
void RewriteMembers(const Replacement& replacement, Graph* graph, std::vector<Node*>* nodes) {
  for (const Replacement::Cluster& cluster : replacement.clusters) {
    for (const auto& [place, bytes] : cluster.rewritten) {
      Node* const rewritten = RewriteNode((*nodes)[place], bytes, graph);
      if (rewritten != nullptr) (*nodes)[place] = rewritten;
    }
  }
}

// `nodes` are the graph's op_nodes(); makes the bodies that are missing.
void Apply(Replacement* replacement, const GraphOptimizationPassOptions& options,
           std::vector<Node*> nodes) {
  if (replacement->clusters.empty()) return;
  // First of all: a replaced cluster remembers constants that a rewritten node has no use for.
  RewriteMembers(*replacement, options.graph->get(), &nodes);
  ClusterReplacer replacer(options);
  for (Replacement::Cluster& cluster : replacement->clusters) {
    std::vector<Node*> members;
    for (const int place : cluster.nodes) members.push_back(nodes[place]);
    const Reason refusal = replacer.Replace(cluster.name, std::move(members), &cluster.body);
    if (refusal != Reason::NONE) CountNotPlaced(refusal);
  }
  replacer.Finish();
  OrderLoops(options.graph->get());
}

std::vector<Node*> NodesOf(const Graph& graph) {
  const auto nodes = graph.op_nodes();
  return std::vector<Node*>(nodes.begin(), nodes.end());
}

tensorflow::GraphDef ToGraphDef(const GraphOptimizationPassOptions& options) {
  const Graph& graph = **options.graph;
  tensorflow::GraphDef graph_def;
  graph.ToGraphDef(&graph_def, /*include_flib_def=*/false);  // `device` is the assigned device
  if (RunsFunctions(graph)) {
    *graph_def.mutable_library() = FunctionsRun(graph, *options.flib_def);
  }
  return graph_def;
}

std::vector<Node*> LoopsOutside(const Replacement& replacement, const std::vector<Node*>& nodes) {
  std::vector<bool> is_inside(nodes.size(), false);
  for (const Replacement::Cluster& cluster : replacement.clusters) {
    for (const int place : cluster.nodes) is_inside[place] = true;
  }
  std::vector<Node*> loops;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!is_inside[i] && IsKept(*nodes[i])) loops.push_back(nodes[i]);
  }
  return loops;
}

void LowerAndCount(const std::vector<Node*>& loops, const GraphOptimizationPassOptions& options) {
  HookCounters().lowered_loops.fetch_add(static_cast<int64_t>(loops.size()),
                                         std::memory_order_relaxed);
  LowerLoops(loops, options);
}

// Marks the graph, whose op_nodes() `nodes` are.  Kept loops that are in no cluster are taken
// apart, and the resulting nodes are marked, too.  Null where the graph cannot be marked.
std::shared_ptr<Replacement> MarkGraph(const CompilerLibrary& library,
                                       const GraphOptimizationPassOptions& options, Extent extent,
                                       std::vector<Node*>* nodes, bool* is_changed) {
  for (;;) {
    const MarkingOf of{.is_function = options.is_function_graph,
                       .function = FunctionName(options),
                       .cards = CardsOf(library, options)};
    const Marking marking = Mark(library, ToGraphDef(options), extent, of);
    if (marking == nullptr) return nullptr;
    auto replacement = std::make_shared<Replacement>(ToReplacement(*marking, *nodes));
    const std::vector<Node*> outside = LoopsOutside(*replacement, *nodes);
    if (outside.empty()) return replacement;
    LowerAndCount(outside, options);
    *nodes = NodesOf(**options.graph);
    *is_changed = true;
  }
}

void Compile(const GraphOptimizationPassOptions& options, Extent extent, bool rebuilds_loops) {
  const CompilerLibrary* const library = CompilerLibrary::Get();
  if (library == nullptr) return;
  HookCounters().graphs.fetch_add(1, std::memory_order_relaxed);
  std::vector<Node*> nodes = NodesOf(**options.graph);
  std::string text = GraphText(options, extent);
  if (const auto known = text.empty() ? nullptr : Replacements().Find(text); known != nullptr) {
    HookCounters().repeated_graphs.fetch_add(1, std::memory_order_relaxed);
    Replacement replacement = *known;
    Apply(&replacement, options, std::move(nodes));
    return;
  }
  // Then the text is not that of the marked graph.
  bool is_changed = rebuilds_loops && extent == Extent::kEverything &&
                    HasLoweredLoops(**options.graph) && RebuildLoops(*library, options);
  if (is_changed) nodes = NodesOf(**options.graph);
  const auto replacement = MarkGraph(*library, options, extent, &nodes, &is_changed);
  if (replacement == nullptr) return;
  Apply(replacement.get(), options, std::move(nodes));
  if (!text.empty() && !is_changed) Replacements().Offer(std::move(text), replacement);
}

}  // namespace

void CompileGraph(const GraphOptimizationPassOptions& options, Extent extent, bool rebuilds_loops) {
  if (extent != Extent::kNothing) Compile(options, extent, rebuilds_loops);
  LowerAndCount(KeptLoops(**options.graph), options);  // of clusters that could not be placed
}

}  // namespace tektite::tf_hook
