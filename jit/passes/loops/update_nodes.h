// Which nodes compute the new values of variables: a part of fusion_groups.
//
//   g = dot_general(...)          m' = m + (g - m) * 0.1          w' = w - rate * m'
//
// An optimizer reads and writes several arrays of a weight's size for each gradient.  In the
// epilogue of the product that computes the gradient they would stream through memory a tile at a
// time, and everything the product reads would have to live until the variables may be changed.  So
// these nodes form loops of their own: one for a weight, with all it reads and writes.
//
// A new value is an output that is elementwise and in which a parameter that is updated
// (jit/ir/updates.h) goes place by place; with it go the elementwise nodes that nothing else uses.
#ifndef TEKTITE_JIT_PASSES_LOOPS_UPDATE_NODES_H_
#define TEKTITE_JIT_PASSES_LOOPS_UPDATE_NODES_H_

#include "absl/container/flat_hash_set.h"
#include "jit/ir/graph.h"

namespace tektite::passes {

absl::flat_hash_set<const ir::Node*> UpdateNodes(const ir::Graph& graph);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_LOOPS_UPDATE_NODES_H_
