// A sum in two parts, so that rounding errors do not grow with the number of terms.
//
//   sum += x[i] for 10^8 numbers in [0, 1]      stays at 2^24: x is less than half a unit of it
//   blocks of some hundred terms, and a LongSum of blocks      as exact as one block
//
//   LongSum sum = EmptySum(b, DType::kF32, lanes);
//   sum = Plus(b, sum, block);                  // for every block
//   Value all = Total(b, sum);
//
// The lower part holds what adding to the upper one has rounded off (Knuth's two-sum): six
// additions for a block.
//
// Limits: floats; a sum that leaves the type's range on the way is infinite, as a plain one.
#ifndef TEKTITE_JIT_LLVM_EMIT_LONG_SUM_H_
#define TEKTITE_JIT_LLVM_EMIT_LONG_SUM_H_

#include "jit/llvm/loop_ir.h"

namespace tektite::loop {

struct LongSum {
  Value high, low;
};

LongSum EmptySum(Builder& b, DType dtype, int lanes);
LongSum Plus(Builder& b, const LongSum& sum, Value block);
Value Total(Builder& b, const LongSum& sum);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_EMIT_LONG_SUM_H_
