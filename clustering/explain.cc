#include "clustering/explain.h"

#include "clustering/load_model.h"

namespace tektite::clustering {

absl::StatusOr<Explanation> Explain(absl::string_view model, const MarkOptions& options) {
  absl::StatusOr<graph_def::GraphDef> graph = LoadModel(model, XlaCalls::kWhole);
  if (!graph.ok()) return graph.status();
  Explanation explanation;
  explanation.graph = std::move(*graph);
  absl::StatusOr<Marking> marking = MarkClusters(explanation.graph, options);
  if (!marking.ok()) return marking.status();
  explanation.marking = std::move(*marking);
  return explanation;
}

}  // namespace tektite::clustering
