// The types that variables must have to be read as a cluster reads them, and which it assigns to.
//
//   VariableType(endpoint.first, endpoint.second, inside, functions)   // DT_FLOAT
//   IsAssigned(node, 0, functions)                                     // of AssignVariableOp: true
//
// A node of the cluster says so that reads the variable or assigns to it; a loop or a branch hands
// it to its functions, whose nodes say it.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_VARIABLE_TYPES_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_VARIABLE_TYPES_H_

#include "runtime_hooks/tensorflow/hook/graph_pass/cluster_order.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {

// Of the variable that is the node's output `output`. DT_RESOURCE, which no variable has, when
// nothing says so (DT_INVALID is not allowed in a list of types).
tensorflow::DataType VariableType(const tensorflow::Node& variable, int output,
                                  const NodeSet& inside,
                                  const tensorflow::FunctionLibraryDefinition& functions);

// Whether a node assigns to the variable that is its input `input`, or a function that it runs.
bool IsAssigned(const tensorflow::Node& node, int input,
                const tensorflow::FunctionLibraryDefinition& functions);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_VARIABLE_TYPES_H_
