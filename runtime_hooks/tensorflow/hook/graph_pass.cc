// The graph pass: asks the compiler which nodes form clusters, and puts one TektiteCluster node in
// the place of each.
//
// Where it stands: POST_REWRITE_FOR_EXEC, after Grappler, placement, inlining and pruning to feeds
// and fetches; phase 5, ahead of XLA's marking in phase 10, which then finds those nodes gone. What
// it promises: a graph it cannot help with is left as it was, and it never fails: an error of ours
// is no reason for a user's program to stop.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "runtime_hooks/tensorflow/hook/counters.h"
#include "runtime_hooks/tensorflow/hook/replace_cluster.h"
#include "runtime_hooks/tensorflow/hook/restore_add_n.h"
#include "runtime_hooks/tensorflow/hook/switches.h"
#include "runtime_hooks/tensorflow/hook/whole_function.h"
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
    CountNotPlaced("HOST_GRAPH_TOO_LARGE");
    return Marking(nullptr, MarkingDeleter{&library});
  }
  graph_def.Clear();
  tektite_mark_options options = {};
  options.struct_size = sizeof(options);
  options.mode = extent == Extent::kEverything ? TEKTITE_MARK_ALL : TEKTITE_MARK_SCOPED;
  tektite_status status = {};
  Marking marking(library.mark(library.compiler, bytes.data(), bytes.size(), &options, &status),
                  MarkingDeleter{&library});
  if (marking == nullptr) CountNotPlaced("HOST_MARKING_FAILED");
  return marking;
}

using NodeByName = absl::flat_hash_map<std::string, Node*>;

// Members of clusters that the marking saw as AddN become just that.
void RestoreSums(const CompilerLibrary& library, const tektite_marking* marking, Graph* graph,
                 NodeByName* node_by_name) {
  for (int cluster = 0; cluster < library.marking_num_clusters(marking); ++cluster) {
    for (int i = 0; i < library.marking_num_nodes(marking, cluster); ++i) {
      const auto it = node_by_name->find(library.marking_node(marking, cluster, i));
      if (it == node_by_name->end() || !IsSpelledOutSum(*it->second)) continue;
      Node* const sum = RestoreAddN(it->second, graph);
      if (sum != nullptr) it->second = sum;
    }
  }
}

class TektitePass : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const GraphOptimizationPassOptions& options) override {
    if (options.graph == nullptr || *options.graph == nullptr || options.flib_def == nullptr) {
      return absl::OkStatus();
    }
    Graph* const graph = options.graph->get();
    if (!HasWork(*graph)) return absl::OkStatus();
    const Extent extent = ExtentFor(options);
    if (extent == Extent::kNothing) return absl::OkStatus();
    const CompilerLibrary* const library = CompilerLibrary::Get();
    if (library == nullptr) return absl::OkStatus();

    HookCounters().graphs.fetch_add(1, std::memory_order_relaxed);
    const Marking marking = Mark(*library, *graph, extent);
    if (marking == nullptr) return absl::OkStatus();
    const int clusters = library->marking_num_clusters(marking.get());
    if (clusters == 0) return absl::OkStatus();

    NodeByName node_by_name;
    for (Node* node : graph->op_nodes()) node_by_name.emplace(node->name(), node);
    // First of all: a replaced cluster remembers constants that a restored sum has no use for.
    RestoreSums(*library, marking.get(), graph, &node_by_name);
    ClusterReplacer replacer(options);
    for (int cluster = 0; cluster < clusters; ++cluster) {
      std::vector<Node*> nodes;
      const int num_nodes = library->marking_num_nodes(marking.get(), cluster);
      for (int i = 0; i < num_nodes; ++i) {
        const auto it = node_by_name.find(library->marking_node(marking.get(), cluster, i));
        if (it != node_by_name.end()) nodes.push_back(it->second);
      }
      const char* const refusal =
          replacer.Replace(library->marking_cluster_name(marking.get(), cluster), std::move(nodes));
      if (refusal != nullptr) CountNotPlaced(refusal);
    }
    replacer.Finish();
    NoteWholeFunction(options);
    return absl::OkStatus();
  }
};

REGISTER_OPTIMIZATION(tensorflow::OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, kPhase,
                      TektitePass);

}  // namespace
}  // namespace tektite::tf_hook
