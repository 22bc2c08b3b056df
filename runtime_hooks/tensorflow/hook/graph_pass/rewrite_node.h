// Puts a node that the marking has rewritten in the place of the graph's own.
//
//   before:  DestroyTemporaryVariable 's' over Assign, AssignAdd, ...    after:  AddN 's'
//
// What a rewritten node is, and why, is the marking's to say (tektite_marked_node;
// clustering/restore_add_n.h is such a rewriting).  The node keeps its name, its readers and its
// device; nodes that only the old one needed go with it.
//
//   Node* const sum = RewriteNode(node, bytes, graph);   // null: the graph is as it was
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_REWRITE_NODE_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_REWRITE_NODE_H_

#include <string>

#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {

// `bytes`: a NodeDef whose inputs are nodes of the graph.
tensorflow::Node* RewriteNode(tensorflow::Node* node, const std::string& bytes,
                              tensorflow::Graph* graph);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_REWRITE_NODE_H_
