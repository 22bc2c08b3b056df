// Names of clusters that people can follow: the function, signature or layer that they come from.
//
//   ClusterNames names(graph, "__inference_train_step_1234");
//   names.NameOf(nodes)   // "MobileNetV2/train_step", and for the next such cluster "...#2"
//
// The scope is the path that most of a cluster's nodes share ("MobileNetV2/block_3"), without the
// calls that TensorFlow has inlined and without what stands for gradients, so that a training step
// is named after its model.  The function is the caller's, or else the signature that the graph's
// nodes name ("serving_default").  A graph that says neither has "cluster_0", "cluster_1".
//
// Names are for people: no key of a cache and no decision depends on them.
#ifndef TEKTITE_CLUSTERING_CLUSTER_NAMES_H_
#define TEKTITE_CLUSTERING_CLUSTER_NAMES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clustering/graph_def/graph_def.h"

namespace tektite::clustering {

// What a program calls a function of TensorFlow's: "train_step" for "__inference_train_step_1234",
// "train_step (backward)" for "__backward_train_step_1234".
std::string ReadableFunction(absl::string_view name);

class ClusterNames {
 public:
  // `function`: TensorFlow's name of the function that the graph is; empty: not known, or none.
  // Borrows the graph.
  ClusterNames(const graph_def::GraphDef& graph, absl::string_view function);
  // Of the next cluster, whose members are `nodes`, indices into the graph's; at most 170 bytes.
  std::string NameOf(const std::vector<int>& nodes);

 private:
  const graph_def::GraphDef& graph_;
  std::string function_;
  int clusters_ = 0;
  std::map<std::string, int> named_;
};

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_CLUSTER_NAMES_H_
