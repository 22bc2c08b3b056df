// Which nodes may assign to variables.
//
//   MayAssign(index, node)      // AssignVariableOp; an If or a call that is handed a variable
//
// Nodes that run functions are taken at the word of their op: stateful ones with a resource among
// their inputs count, whether their functions write to it or only read it.  Loops do not, since
// none whose body assigns is compiled (function_bodies.h).
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_ASSIGNMENTS_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_ASSIGNMENTS_H_

#include "clustering/graph_def/graph_index.h"

namespace tektite::graph_def {

bool MayAssign(const GraphIndex& index, int node);

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_ASSIGNMENTS_H_
