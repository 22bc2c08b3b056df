// Ops that give variables new values, and so have effects without having results.
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_VARIABLE_OPS_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_VARIABLE_OPS_H_

#include "absl/strings/string_view.h"

namespace tektite::graph_def {

// Input 0 is the variable, input 1 a value of its type.
inline bool WritesVariable(absl::string_view op) {
  return op == "AssignVariableOp" || op == "AssignAddVariableOp" || op == "AssignSubVariableOp";
}

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_VARIABLE_OPS_H_
