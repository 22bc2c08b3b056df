// The parts of exp that other functions are built from.
//
//   const ExpReduction e = ReduceExp(x);      // x = n ln2 + r
//   ExpScaled(x, -1)                          // exp(x) / 2, for sinh and cosh
//
// Limits: f32 and f64; errors are those that exp.cc states.
#ifndef TEKTITE_JIT_LLVM_MATH_EXP_H_
#define TEKTITE_JIT_LLVM_MATH_EXP_H_

#include "jit/llvm/math/num.h"

namespace tektite::loop::math {

struct ExpReduction {
  Num n;  // an integer, as a float
  Num r;  // x - n ln2, at most ln2 / 2 either way
};
ExpReduction ReduceExp(Num x);
// The same for high + low, low below an ULP or two of high.
ExpReduction ReduceExp(Num high, Num low);

// 2^n for an integral n (a float) whose power is a normal number.
Num PowerOfTwo(Num n);

// exp(x) 2^shift for a small integral shift: overflows only if the result does.
Num ExpScaled(Num x, double shift);

}  // namespace tektite::loop::math

#endif  // TEKTITE_JIT_LLVM_MATH_EXP_H_
