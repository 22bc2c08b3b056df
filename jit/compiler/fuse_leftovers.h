// Puts every node that the passes left outside a fusion into one of its own.
//
//   before  %2 = add(%0, %1)
//   after   %2 = fusion(%0, %1) { add } kind "loop"
//
// After the fuse pass there is hardly any; with --disable_passes=fuse it is every op, which is how
// a kernel is tested alone.  Parameters, constants, and reshapes stay as they are.
#ifndef TEKTITE_JIT_COMPILER_FUSE_LEFTOVERS_H_
#define TEKTITE_JIT_COMPILER_FUSE_LEFTOVERS_H_

#include "jit/ir/graph.h"

namespace tektite::compiler {

void FuseLeftovers(ir::Graph& graph);

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_FUSE_LEFTOVERS_H_
