// A marked cluster as the importer sees it, without a host: sizes that the graph leaves open stay
// so.
//
//   ImportedCluster imported = ImportCluster(index, cost, cluster);
//   imported.shapes["dense/BiasAdd"]    // "f32[n0,768]": n0 is a size that the graph leaves open
//
// Limits: the rank of every input must be known from the graph; where it is not, or where the
// importer refuses the cluster with its sizes left open, `refused` says why.
#ifndef TEKTITE_CLUSTERING_IMPORT_CLUSTER_H_
#define TEKTITE_CLUSTERING_IMPORT_CLUSTER_H_

#include <map>
#include <string>

#include "clustering/cost.h"
#include "clustering/importer/importer.h"
#include "clustering/mark_clusters.h"

namespace tektite::clustering {

struct ImportedCluster {
  importer::ImportedGraph code;  // no graph where it was refused
  std::map<std::string, std::string>
      shapes;  // by tensor that goes in or comes out: "node", "node:1"
  std::string refused;
};

ImportedCluster ImportCluster(const graph_def::GraphIndex& index, const CostModel& cost,
                              const MarkedCluster& cluster);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_IMPORT_CLUSTER_H_
