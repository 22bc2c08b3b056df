// Parameters that a graph updates: variables that a training step assigns to.
//
//   graph @step(%w: f32[n] {updated = true}, %g: f32[n]) -> f32[n]
//
// Such a graph's last outputs are these parameters' new values, in the parameters' order.
#ifndef TEKTITE_JIT_IR_UPDATES_H_
#define TEKTITE_JIT_IR_UPDATES_H_

#include "jit/ir/graph.h"

namespace tektite::ir {

inline bool IsUpdated(const Node& node) {
  return node.op() == Op::kParameter && node.Bool(Attr::updated);
}

inline void MarkUpdated(Node* parameter) { parameter->attrs().Set(Attr::updated, true); }

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_UPDATES_H_
