#include "clustering/explain.h"

#include "clustering/graph_def/function_graphs.h"
#include "clustering/graph_def/graph_index.h"
#include "clustering/load_model.h"

namespace tektite::clustering {
namespace {

using graph_def::FunctionRef;
using graph_def::GraphDef;
using graph_def::NodeDef;

// What the host runs of a loop turn by turn is marked like any other graph.  A condition is not
// worth a word.
std::vector<RunInParts> ExplainParts(const Explanation& explanation, const MarkOptions& options) {
  std::vector<RunInParts> all;
  graph_def::FunctionGraphs functions(explanation.graph);
  for (size_t i = 0; i < explanation.graph.nodes.size(); ++i) {
    const NodeDef& node = explanation.graph.nodes[i];
    if (explanation.marking.cluster_of[i] >= 0 || !FactsOf(node.op).Is(OpFacts::kRunsFunctions))
      continue;
    const graph_def::AttrValue* const body = node.attrs.Find("body");
    for (const FunctionRef& function : graph_def::FunctionsOf(node)) {
      if (body != nullptr && function.name != body->As<FunctionRef>()->name) continue;
      const absl::StatusOr<const GraphDef*> closed = functions.Get(function);
      if (!closed.ok()) continue;
      GraphDef graph = **closed;
      graph.functions = graph_def::ReachableFunctions(graph.nodes, explanation.graph);
      const absl::StatusOr<Marking> marking = MarkClusters(graph, options);
      if (!marking.ok()) continue;
      RunInParts parts{static_cast<int>(i), function.name};
      parts.clusters = static_cast<int>(marking->clusters.size());
      for (size_t k = 0; k < graph.nodes.size(); ++k) {
        if (!CountsAsOp(graph.nodes[k])) continue;
        ++parts.ops;
        parts.clustered += marking->cluster_of[k] >= 0 ? 1 : 0;
      }
      all.push_back(std::move(parts));
    }
  }
  return all;
}

}  // namespace

absl::StatusOr<Explanation> Explain(absl::string_view model, const MarkOptions& options) {
  absl::StatusOr<graph_def::GraphDef> graph = LoadModel(model, XlaCalls::kWhole);
  if (!graph.ok()) return graph.status();
  Explanation explanation;
  explanation.graph = std::move(*graph);
  absl::StatusOr<Marking> marking = MarkClusters(explanation.graph, options);
  if (!marking.ok()) return marking.status();
  explanation.marking = std::move(*marking);
  explanation.in_parts = ExplainParts(explanation, options);
  return explanation;
}

}  // namespace tektite::clustering
