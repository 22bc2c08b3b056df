// The order around a cluster in a graph: the nodes that it must wait for, and whether it would wait
// for itself.
//
//   const NodeSet inside(nodes.begin(), nodes.end());
//   if (MakesCycle(nodes, inside)) return;        // no one node can take their place
//   for (Node* node : Waits(*nodes[0], inside)) ...
//
// A constant outside that the cluster reads is copied into its body, unless it is large, and no
// part of this order.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_CLUSTER_ORDER_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_CLUSTER_ORDER_H_

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {

using NodeSet = absl::flat_hash_set<const tensorflow::Node*>;

// Above 64 KB: such a constant stays a TensorFlow node, and the cluster borrows its buffer.
bool IsLargeConstant(const tensorflow::Node& node);
// Other constants, where they are outside of the cluster that reads them.
bool IsCopiedConstant(const tensorflow::Node& node);

// The nodes that `node` waits for.  Where these are constants that are copied, they are no nodes to
// wait for, but what they wait for is, as constant folding leaves it.
std::vector<tensorflow::Node*> Waits(const tensorflow::Node& node, const NodeSet& inside);

// Whether what leaves the cluster reaches it again.  A turn of a loop that the cluster is in is no
// such way, since the next turn is another run of it; turns of loops that run between two of its
// nodes are.  Nor are constants alone, which wait for a node of the cluster or for each other.
bool MakesCycle(const std::vector<tensorflow::Node*>& nodes, const NodeSet& inside);

}  // namespace tektite::tf_hook

#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_CLUSTER_ORDER_H_
