// The values that a loop fusion computes in one space, and where it writes each.
//
//   graph @fused(%acc: f32[60,8,32], %x: f32[8,32], %t: s32[]) -> (f32[8,32], f32[60,8,32]) {
//     %3 = tanh(%x)
//     %4 = reshape(%3) {shape = (1, 8, 32)}
//     %5 = dynamic_update_slice(%acc, %4, %t, %0, %0)
//     return %3, %5
//   }
//
// Its space is [8,32], dimensions of size 1 aside.  It writes %3 at its own place, and %4 into the
// row %t of the memory in which result 1 and %acc lie.  Operands of a concatenate beside other
// results are written side by side.
#ifndef TEKTITE_JIT_IR_WRITES_H_
#define TEKTITE_JIT_IR_WRITES_H_

#include <cstdint>
#include <vector>

#include "jit/ir/graph.h"

namespace tektite::ir {

struct Write {
  Value value;
  int result = 0;
  const Node* update = nullptr;  // the dynamic_update_slice that it is the update of
  int64_t dimension = 0;         // of the result, along which it is written `shift` further on
  Dim shift;
};

struct Writes {
  Dims space;               // without dimensions of size 1
  std::vector<Write> list;  // in the order of results
  // Whether a value is written anywhere else than at its own index.
  bool moves = false;
};

Dims WithoutOnes(const Dims& dims);
// A concatenate of several values of one shape along the last dimension.
bool JoinsEqualParts(const Node& node);
// No writes for a fusion whose results do not come from values of one space.  A fusion that is not
// marked as in_place writes updates whole, and one with a single result a concatenate.
Writes WritesOf(const Node& fusion);

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_WRITES_H_
