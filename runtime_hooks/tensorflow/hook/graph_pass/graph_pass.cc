// The graph pass: asks the compiler which nodes form clusters, and puts one TektiteCluster node in
// the place of each.  A graph that comes again, since tf.data instantiates its functions anew with
// each iterator, gets what an equal one got.
//
// Where it stands: POST_REWRITE_FOR_EXEC, after Grappler, placement, inlining and pruning to feeds
// and fetches; phase 5, ahead of XLA's marking in phase 10, which then finds those nodes gone. What
// it promises: a graph it cannot help with is left as it was, and it never fails: an error of ours
// is no reason for a user's program to stop.

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/graph_text.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/repeat_cache.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/replace_cluster.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/restore_add_n.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/whole_function.h"
#include "runtime_hooks/tensorflow/hook/run/counters.h"
#include "runtime_hooks/tensorflow/hook/switches.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::Graph;
using tensorflow::GraphOptimizationPassOptions;
using tensorflow::Node;

constexpr int kPhase = 5;

// Graphs without any work in them (a function that returns its argument, an initializer) are the
// most common ones of all; they are sent away before anything is allocated.
bool HasWork(const Graph& graph) {
  const auto nodes = graph.op_nodes();
  return std::any_of(nodes.begin(), nodes.end(), IsWork);
}

struct MarkingDeleter {
  const CompilerLibrary* library;
  void operator()(tektite_marking* marking) const { library->marking_destroy(marking); }
};
using Marking = std::unique_ptr<tektite_marking, MarkingDeleter>;

// Null when the graph is too large for a GraphDef message or the compiler cannot read it.
Marking Mark(const CompilerLibrary& library, const Graph& graph, Extent extent) {
  tensorflow::GraphDef graph_def;
  graph.ToGraphDef(&graph_def, /*include_flib_def=*/false);  // `device` is the assigned device
  std::string bytes;
  if (!graph_def.SerializeToString(&bytes)) {
    CountNotPlaced(TEKTITE_FALLBACK_HOST_GRAPH_TOO_LARGE);
    return Marking(nullptr, MarkingDeleter{&library});
  }
  graph_def.Clear();
  tektite_mark_options options = {};
  options.struct_size = sizeof(options);
  options.mode = extent == Extent::kEverything ? TEKTITE_MARK_ALL : TEKTITE_MARK_SCOPED;
  tektite_status status = {};
  Marking marking(library.mark(library.compiler, bytes.data(), bytes.size(), &options, &status),
                  MarkingDeleter{&library});
  if (marking == nullptr) CountNotPlaced(TEKTITE_FALLBACK_HOST_MARKING_FAILED);
  return marking;
}

// What is put into a graph: the same for an equal one.
struct Replacement {
  struct Cluster {
    std::string name;
    std::vector<int> nodes;                   // places among the graph's op_nodes()
    std::shared_ptr<const ClusterBody> body;  // null until it has been made
  };
  std::vector<Cluster> clusters;
};

RepeatCache<Replacement>& Replacements() {
  static auto* const cache = new RepeatCache<Replacement>;  // outlives every thread that compiles
  return *cache;
}

// Without the bodies.
Replacement ToReplacement(const CompilerLibrary& library, const tektite_marking* marking,
                          const std::vector<Node*>& nodes) {
  absl::flat_hash_map<std::string_view, int> place_by_name;
  for (size_t i = 0; i < nodes.size(); ++i) {
    place_by_name.emplace(nodes[i]->name(), static_cast<int>(i));
  }
  Replacement replacement;
  for (int cluster = 0; cluster < library.marking_num_clusters(marking); ++cluster) {
    replacement.clusters.push_back({library.marking_cluster_name(marking, cluster), {}, nullptr});
    for (int i = 0; i < library.marking_num_nodes(marking, cluster); ++i) {
      const auto it = place_by_name.find(library.marking_node(marking, cluster, i));
      if (it != place_by_name.end()) replacement.clusters.back().nodes.push_back(it->second);
    }
  }
  return replacement;
}

// Members of clusters that the marking saw as AddN become just that.
void RestoreSums(const Replacement& replacement, Graph* graph, std::vector<Node*>* nodes) {
  for (const Replacement::Cluster& cluster : replacement.clusters) {
    for (const int place : cluster.nodes) {
      Node*& node = (*nodes)[place];
      if (!IsSpelledOutSum(*node)) continue;
      Node* const sum = RestoreAddN(node, graph);
      if (sum != nullptr) node = sum;
    }
  }
}

// `nodes` are the graph's op_nodes(); makes the bodies that are missing.
void Apply(Replacement* replacement, const GraphOptimizationPassOptions& options,
           std::vector<Node*> nodes) {
  if (replacement->clusters.empty()) return;
  // First of all: a replaced cluster remembers constants that a restored sum has no use for.
  RestoreSums(*replacement, options.graph->get(), &nodes);
  ClusterReplacer replacer(options);
  for (Replacement::Cluster& cluster : replacement->clusters) {
    std::vector<Node*> members;
    for (const int place : cluster.nodes) members.push_back(nodes[place]);
    const tektite_fallback refusal =
        replacer.Replace(cluster.name, std::move(members), &cluster.body);
    if (refusal != TEKTITE_FALLBACK_NONE) CountNotPlaced(refusal);
  }
  replacer.Finish();
  NoteWholeFunction(options);
}

class TektitePass : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const GraphOptimizationPassOptions& options) override {
    if (options.graph == nullptr || *options.graph == nullptr || options.flib_def == nullptr) {
      return absl::OkStatus();
    }
    const Graph& graph = **options.graph;
    if (!HasWork(graph)) return absl::OkStatus();
    const Extent extent = ExtentFor(options);
    if (extent == Extent::kNothing) return absl::OkStatus();
    const CompilerLibrary* const library = CompilerLibrary::Get();
    if (library == nullptr) return absl::OkStatus();

    HookCounters().graphs.fetch_add(1, std::memory_order_relaxed);
    const auto op_nodes = graph.op_nodes();
    std::vector<Node*> nodes(op_nodes.begin(), op_nodes.end());
    std::string text = GraphText(options, extent);
    if (const auto known = text.empty() ? nullptr : Replacements().Find(text); known != nullptr) {
      HookCounters().repeated_graphs.fetch_add(1, std::memory_order_relaxed);
      Replacement replacement = *known;
      Apply(&replacement, options, std::move(nodes));
      return absl::OkStatus();
    }
    const Marking marking = Mark(*library, graph, extent);
    if (marking == nullptr) return absl::OkStatus();
    auto replacement = std::make_shared<Replacement>(ToReplacement(*library, marking.get(), nodes));
    Apply(replacement.get(), options, std::move(nodes));
    if (!text.empty()) Replacements().Offer(std::move(text), std::move(replacement));
    return absl::OkStatus();
  }
};

REGISTER_OPTIMIZATION(tensorflow::OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, kPhase,
                      TektitePass);

}  // namespace
}  // namespace tektite::tf_hook
