// The folding that Builder does while building: scalar s64 and bool constants, and identities that
// hold for every value (x + 0, x * 1, x and true, ...).  Floats only where the result is the same
// bits for every number: x * 1 and x / 1, never x + 0 (it turns -0 into 0).
//
//   FoldIndex(ir::Op::kAdd, 2, 3)     // 5
//   Identity(ir::Op::kMul, x, one)    // x
//
// Limits: no vectors of different constants; LLVM folds those.
#ifndef TEKTITE_JIT_LLVM_FOLD_H_
#define TEKTITE_JIT_LLVM_FOLD_H_

#include <optional>

#include "jit/llvm/instr.h"

namespace tektite::loop {

// The s64 value of `a op b`, as the loop IR defines it (division by zero, wide shifts); none for
// ops that are not folded.
std::optional<int64_t> FoldIndex(ir::Op op, int64_t a, int64_t b);
std::optional<bool> FoldBool(ir::Op op, bool a, bool b);
bool FoldCompare(Direction direction, int64_t a, int64_t b);

// One of the operands when `a op b` is always equal to it; none otherwise.
Value Identity(ir::Op op, Value a, Value b);

// A scalar s64 as value * factor.
struct Scaled {
  Value value;
  int64_t factor = 1;
};
// The scaled value that `a + b` is, if they are the two parts of an index that was taken apart and
// put together again, each times its stride: (x / n) * (n * s) + (x % n) * s is x * s.  No value
// otherwise.
Scaled Recombined(Value a, Value b);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_FOLD_H_
