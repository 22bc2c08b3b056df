// The shapes that go into and come out of a cluster, as the importer follows them.
//
//   ClusterShapes shapes = ImportedShapes(index, cost, cluster);
//   shapes.of["dense/BiasAdd"]    // "f32[n0,768]": n0 is a size that the graph leaves open
//
// Limits: the rank of every input must be known from the graph; where it is not, or where the
// importer refuses the cluster with its sizes left open, `refused` says why.
#ifndef TEKTITE_CLUSTERING_EXPLAIN_SHAPES_H_
#define TEKTITE_CLUSTERING_EXPLAIN_SHAPES_H_

#include <map>
#include <string>

#include "clustering/cost.h"
#include "clustering/mark_clusters.h"

namespace tektite::clustering {

struct ClusterShapes {
  std::map<std::string, std::string> of;  // by tensor: "node" or "node:1"
  std::string refused;
};

ClusterShapes ImportedShapes(const graph_def::GraphIndex& index, const CostModel& cost,
                             const MarkedCluster& cluster);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_EXPLAIN_SHAPES_H_
