// What goes into a cluster and comes out of it: the inputs and outputs of the node that takes the
// place of its nodes.
//
//   Boundary boundary = FindBoundary(nodes, inside, functions);
//   if (place == Place::kCard) SortByMemory(&boundary);
//
// On a card TensorFlow decides for a whole list of inputs or outputs where it lies, so that what
// lies in the host's memory has a list of its own, behind the other.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_CLUSTER_BOUNDARY_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_CLUSTER_BOUNDARY_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/cluster_order.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {

using Endpoint = std::pair<tensorflow::Node*, int>;  // with: which of its outputs

struct Boundary {
  std::vector<Endpoint> inputs;                   // data that comes in, each source once
  std::vector<Endpoint> outputs;                  // data that goes out, each source once
  std::vector<tensorflow::Node*> control_inputs;  // nodes the cluster waits for
  std::vector<tensorflow::Node*> control_outputs;
  std::vector<tensorflow::Node*> copied_constants;  // outside, copied into the body
  std::vector<int> constant_inputs;                 // indices of inputs that come from constants
  std::vector<int> updated_inputs;  // indices of variables that the cluster assigns to
  absl::flat_hash_map<Endpoint, int> input_index;
  absl::flat_hash_map<Endpoint, int> output_index;
};

// Without a reference.
tensorflow::DataType TypeOf(const Endpoint& endpoint);
// Whether it lies in the host's memory, by TensorFlow's rule for arguments and results of functions
// on a card.
bool IsOnHost(const Endpoint& endpoint);

Boundary FindBoundary(const std::vector<tensorflow::Node*>& nodes, const NodeSet& inside,
                      const tensorflow::FunctionLibraryDefinition& functions);
// What lies in the card's memory comes first, the rest keeps its order.
void SortByMemory(Boundary* boundary);

}  // namespace tektite::tf_hook

#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_CLUSTER_BOUNDARY_H_
