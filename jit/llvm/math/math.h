// The math functions: LLVM IR for one operand type (f32 or f64) and any number of lanes.
//
// Bounds on the error, in units in the last place of the result, are in each file; vector_math_test
// checks them, and bench/vector_math measures them.
// Results at zeros, infinities, NaN and denormals follow C's Annex F.
// Constants come from scripts/remez.py, which fits a polynomial to a function by Remez's exchange.
//
//   if (UnaryFunction f = FindUnary(ir::Op::kTanh)) result = f(x);
//
// Limits: f32 and f64; f16 and bf16 are converted first.
#ifndef TEKTITE_JIT_LLVM_MATH_MATH_H_
#define TEKTITE_JIT_LLVM_MATH_MATH_H_

#include "jit/ir/op.h"
#include "jit/llvm/math/num.h"

namespace tektite::loop::math {

using UnaryFunction = Num (*)(Num);
using BinaryFunction = Num (*)(Num, Num);

// The function for an op, or null for ops that are single instructions or not functions.
UnaryFunction FindUnary(ir::Op op);
BinaryFunction FindBinary(ir::Op op);
// Whether an op takes a vector tens of instructions: all of these but rsqrt and remainders.
bool IsLong(ir::Op op);

Num Acos(Num x);
Num Acosh(Num x);
Num Asin(Num x);
Num Asinh(Num x);
Num Atan(Num x);
Num Atan2(Num y, Num x);
Num Atanh(Num x);
Num Cos(Num x);
Num Cosh(Num x);
Num Erf(Num x);
Num Erfc(Num x);
Num Exp(Num x);
Num Expm1(Num x);
Num Log(Num x);
Num Log1p(Num x);
Num Logistic(Num x);
Num Pow(Num x, Num y);
Num Remainder(Num x, Num y);  // fmod: exact, with the sign of x
Num Rsqrt(Num x);
Num Sin(Num x);
Num Sinh(Num x);
Num Tan(Num x);
Num Tanh(Num x);

}  // namespace tektite::loop::math

#endif  // TEKTITE_JIT_LLVM_MATH_MATH_H_
