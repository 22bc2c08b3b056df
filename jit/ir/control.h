// Nodes whose regions the runtime runs as steps of their own: loops and choices.
//
//   %r = while(%i, %x)  graph @condition ...  graph @body ...
//
// Fusions and reductions have regions too, but one kernel computes all of such a node.
#ifndef TEKTITE_JIT_IR_CONTROL_H_
#define TEKTITE_JIT_IR_CONTROL_H_

#include "jit/ir/graph.h"

namespace tektite::ir {

inline bool IsControl(const Node& node) {
  return node.op() == Op::kWhile || node.op() == Op::kConditional;
}

// A value that a loop carries and its body returns unchanged.
inline bool IsInvariant(const Node& loop, int carried) {
  return loop.region(1).outputs()[carried] == loop.region(1).parameter(carried)->result();
}

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_CONTROL_H_
