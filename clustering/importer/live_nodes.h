// The nodes that a graph's results depend on, and those that run for an effect.
#ifndef TEKTITE_CLUSTERING_IMPORTER_LIVE_NODES_H_
#define TEKTITE_CLUSTERING_IMPORTER_LIVE_NODES_H_

#include <vector>

#include "clustering/graph_def/graph_index.h"

namespace tektite::importer {

// What the _Retval nodes, checks, and nodes that may assign to variables reach backwards over data
// edges, in the index's order.
std::vector<int> LiveNodes(const graph_def::GraphIndex& index);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_LIVE_NODES_H_
