// Which nodes may assign to variables.
//
//   MayAssign(index, node)      // AssignVariableOp; an If or a call that is handed a variable
//
// Branches and calls are taken at the word of their op: stateful ones with a resource among their
// inputs count, whether their functions write to it or only read it.  A loop counts where its body
// assigns, since most loops only read weights, of which packed copies are worth keeping.  Where the
// graph does not have the body, the loop counts if it takes a resource.
#ifndef TEKTITE_CLUSTERING_GRAPH_DEF_ASSIGNMENTS_H_
#define TEKTITE_CLUSTERING_GRAPH_DEF_ASSIGNMENTS_H_

#include "clustering/graph_def/graph_index.h"

namespace tektite::graph_def {

bool MayAssign(const GraphIndex& index, int node);

}  // namespace tektite::graph_def

#endif  // TEKTITE_CLUSTERING_GRAPH_DEF_ASSIGNMENTS_H_
