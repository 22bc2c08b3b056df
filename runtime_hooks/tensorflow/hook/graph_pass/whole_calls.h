// Nodes that stay whole until the graph pass sees them, with the functions that they run: kept
// loops (kept_loops.h), loops that TensorFlow never takes apart, such as those of tf.nn.ctc_loss,
// and calls of functions with jit_compile=True.
//
// TensorFlow leaves a call with _XlaMustCompile=true alone in all its passes, and makes a kernel
// for it that has XLA compile the function.  With --take_over_xla such a call may be a member of a
// cluster.  It is one of the cluster's fallback, too, unchanged: so XLA is what the comparison
// compares with, and what answers where compiled code does not.
//
//   if (RunsFunctions(graph)) *graph_def.mutable_library() = FunctionsRun(graph, functions);
//
// Limits: the body of a call whose function assigns to variables is XLA's (function_bodies.h).
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_WHOLE_CALLS_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_WHOLE_CALLS_H_

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {

bool IsXlaCall(const tensorflow::Node& node);
// Whether the graph, or a function in its library, has such a node.
bool HoldsXlaCalls(const tensorflow::GraphDef& graph);

// Whether the graph has such a loop or a call for XLA.
bool RunsFunctions(const tensorflow::Graph& graph);

// The functions that these run, and those that they need, by name.
tensorflow::FunctionDefLibrary FunctionsRun(const tensorflow::Graph& graph,
                                            const tensorflow::FunctionLibraryDefinition& functions);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_WHOLE_CALLS_H_
