// Decides which nodes of a graph are compiled together.
//
//   TEKTITE_ASSIGN_OR_RETURN(Marking marking, MarkClusters(graph, MarkOptions()));
//   for (const MarkedCluster& cluster : marking.clusters) ... cluster.name, cluster.nodes
//   marking.reason[i]  // why node i is in none
//
// Every cluster has these properties:
// - Its nodes can be compiled (compilability.h), the values they need are known (compile_time.h).
// - No cycle: no path leaves it and comes back, not by turns of a loop either. This also keeps the
//   order of reads and writes of variables: whatever the graph orders before or after the cluster
//   stays so, since edges into and out of a cluster order all of it, and control edges between
//   members order these.
// - Its nodes run under the same condition in the same loop (deadness.h), on one device, under one
//   _XlaScope.
// - It is worth it: enough ops and estimated work (cost.h), or an op that gains alone and much
//   work, unless it is annotated.
//
// How: each node gets a level that grows where a path changes between kinds of nodes (compilable
// with one device, scope and condition, or not compilable). Nodes of one kind and level can have no
// path between them that leaves the kind, so they may share a cluster: linear time, no search for
// cycles. Nodes move to the latest level at which something of their kind uses them, which joins
// what only later work needs with that work. Connected parts become clusters.
//
// A NoOp ties control edges together. Between two members it is a member too, since the edges
// through it would otherwise leave and come back; nothing of it is left in the compiled graph.
//
// Limits: clusters are not split for size, nor merged when nothing connects them.
#ifndef TEKTITE_CLUSTERING_MARK_CLUSTERS_H_
#define TEKTITE_CLUSTERING_MARK_CLUSTERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clustering/compilability.h"
#include "clustering/graph_def/graph_index.h"

namespace tektite::clustering {

struct MarkedCluster {
  std::string name;        // for people, unique in the graph (cluster_names.h)
  std::vector<int> nodes;  // indices into GraphDef::nodes, each after those it uses
  int64_t ops = 0;         // those that count (CountsAsOp)
  int64_t cost = 0;
};

// A Const belongs to every cluster that uses it: the code that cuts clusters out of the graph
// copies it, and keeps the original where other nodes need it. Control inputs of members, constants
// included, become those of the cluster: they may be all that holds it in its branch or loop.
struct Marking {
  std::vector<MarkedCluster> clusters;
  // By node. A Const in several clusters has the first.
  std::vector<int> cluster_of;  // -1: none
  std::vector<Reason> reason;   // kNone inside a cluster
  std::vector<std::string> detail;
};

absl::StatusOr<Marking> MarkClusters(const graph_def::GraphDef& graph, const MarkOptions& options);
absl::StatusOr<Marking> MarkClusters(const graph_def::GraphIndex& index,
                                     const MarkOptions& options);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_MARK_CLUSTERS_H_
