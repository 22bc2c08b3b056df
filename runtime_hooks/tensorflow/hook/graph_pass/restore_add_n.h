// The surgery for a sum that the marking sees as AddN and the graph still spells out over a
// temporary variable (clustering/restore_add_n.h says what and why).
//
//   before:  DestroyTemporaryVariable 's' over Assign, AssignAdd, ...    after:  AddN 's'
//
// Limits: the form of the chain is trusted to be what the marking found; only what would make the
// surgery itself go wrong is checked.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_RESTORE_ADD_N_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_RESTORE_ADD_N_H_

#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {

bool IsSpelledOutSum(const tensorflow::Node& node);

// Puts an AddN in the place of the chain that ends in `destroy`, which is gone afterwards with all
// that only served it, its constant too. Null when it cannot; the graph is then as it was.
tensorflow::Node* RestoreAddN(tensorflow::Node* destroy, tensorflow::Graph* graph);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_RESTORE_ADD_N_H_
