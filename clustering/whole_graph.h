// Whether a cluster would be all that a graph does.
//
//   if (IsWholeGraph(index, cluster.nodes)) ...
//
// A host can call such a function's only op past its own function runtime (direct calls), which
// spares more than a small cluster's ops take.
//
// Limits: each of the graph's results has to be an output of the cluster of its own, as direct
// calls need it.
#ifndef TEKTITE_CLUSTERING_WHOLE_GRAPH_H_
#define TEKTITE_CLUSTERING_WHOLE_GRAPH_H_

#include <vector>

#include "clustering/graph_def/graph_index.h"

namespace tektite::clustering {

bool IsWholeGraph(const graph_def::GraphIndex& index, const std::vector<int>& members);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_WHOLE_GRAPH_H_
