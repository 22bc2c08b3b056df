// Cuts graphs out of graphs: one cluster, or a frozen graph with its placeholders, as a closed
// graph whose inputs are _Arg nodes and whose outputs are _Retval nodes (tektite_cluster_create's
// form).
//
// Example(const graph_def::GraphIndex& index, const std::vector<int>& nodes) -> absl::Status:
//   #include "jit/base/status.h"
//   TEKTITE_ASSIGN_OR_RETURN(ClosedGraph cluster, ExtractCluster(index, nodes));
//   cluster.inputs;  // {"x", "w:0", ...}: what _Arg 0, 1, ... stand for
//
// Control edges between the members of a cluster stay, since they order its reads and writes of
// variables; those that come in from outside order the whole cluster, and are not part of it.
// Variables that the graph updates carry `_tektite_updated` (c_api/tektite.h). A frozen graph has
// no variables, and loses all its control edges. The TensorFlow hook cuts its clusters out of
// TensorFlow's own graphs by the same rules (replace_cluster.h); this serves explaining, dumping,
// running frozen graphs and tests.
#ifndef TEKTITE_CLUSTERING_EXTRACT_CLUSTER_H_
#define TEKTITE_CLUSTERING_EXTRACT_CLUSTER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "clustering/graph_def/graph_index.h"

namespace tektite::clustering {

struct ClosedGraph {
  graph_def::GraphDef graph;
  // The tensors ("node", "node:1") of the original graph that the _Arg and _Retval nodes stand for.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

// Outputs are what nodes outside use, and the first outputs of members that nothing uses.
// The graph includes the functions that members run.
absl::StatusOr<ClosedGraph> ExtractCluster(const graph_def::GraphIndex& index,
                                           absl::Span<const int> nodes);

// Placeholders become _Arg; `outputs` ("node" or "node:1") become _Retval, or where there are none,
// the nodes whose results nothing uses. Nodes that no output needs are left out.
absl::StatusOr<ClosedGraph> CloseGraph(const graph_def::GraphDef& graph,
                                       const std::vector<std::string>& outputs);

// "x=f32[?,3];y->out": the names, and types where they are known.
std::string SignatureText(const ClosedGraph& closed);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_EXTRACT_CLUSTER_H_
