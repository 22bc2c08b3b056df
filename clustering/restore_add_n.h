// Turns sums that Grappler spelled out over a temporary variable back into AddN.
//
//   before:  v = TemporaryVariable()             after:  s = AddN(a, b, c)
//            i = Assign(v, zeros)
//            AssignAdd(i, a) · AssignAdd(i, b) · AssignAdd(i, c)
//            s = DestroyTemporaryVariable(i)     # waits for the three
//
// Why: Grappler's memory optimizer writes them where it thinks that memory is short (layer norms,
// as Keras spells them, become such sums). Reference types cannot be compiled, and each such sum
// cuts a model in two: GPT-2 fell into 26 clusters, and is one with them restored.
//
// The operands of s are the same; the order of addition, which depended on which operand came
// first, is now fixed. A chain that another node reads, that does not start from zero, or whose
// parts disagree on a name or a type, is left alone.
//
// Limits: for marking only. The host takes over those sums that end up in a cluster
// (tektite_marked_node), and leaves all other sums as they are.
#ifndef TEKTITE_CLUSTERING_RESTORE_ADD_N_H_
#define TEKTITE_CLUSTERING_RESTORE_ADD_N_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clustering/graph_def/graph_def.h"

namespace tektite::clustering {

// The names of the sums. A sum keeps its node's name and place; the nodes that only served it are
// gone. An error is that of a graph that cannot be indexed.
absl::StatusOr<std::vector<std::string>> RestoreAddN(graph_def::GraphDef* graph);

}  // namespace tektite::clustering

#endif  // TEKTITE_CLUSTERING_RESTORE_ADD_N_H_
