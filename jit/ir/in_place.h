// Fusions with results that lie where operands do, of which they write a part.
//
//   %1: f32[t,n] = fusion(%acc, %row, %i) {in_place = true, kind = loop}
//     graph @fused(...) { ... return dynamic_update_slice(%acc, %row, %i, %0) }
//
// Such a fusion's kernel may leave out what the updates leave alone: the runtime copies an operand
// first unless the result takes over its memory.  Kernels that any other code runs must not have
// the attribute; the passes update_in_place and join_writes set it inside loops and choices.
//
// Fusions of one scatter or update_rows that have the attribute copy their operand themselves where
// they must: for them it says that this is not expected (update_in_place).
#ifndef TEKTITE_JIT_IR_IN_PLACE_H_
#define TEKTITE_JIT_IR_IN_PLACE_H_

#include "jit/ir/graph.h"

namespace tektite::ir {

// The operand that result `r` would be an update of and that nothing else in the fusion reads; -1
// where there is none.
inline int FindUpdatedOperand(const Node& fusion, int r) {
  const Node& update = *fusion.region().outputs()[r].node;
  if (update.op() != Op::kDynamicUpdateSlice || !update.uses().empty()) return -1;
  const Node& whole = *update.operand(0).node;
  const bool alone = whole.op() == Op::kParameter && whole.uses().size() == 1;
  return alone ? static_cast<int>(whole.Int(Attr::index)) : -1;
}

// The same of a fusion that is marked; -1 for any other.
inline int UpdatedOperand(const Node& fusion, int r) {
  return fusion.Bool(Attr::in_place) ? FindUpdatedOperand(fusion, r) : -1;
}

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_IN_PLACE_H_
