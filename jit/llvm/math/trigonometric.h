// The reduction that sin, cos and tan share.
//
//   const AngleReduction a = ReduceAngle(x, DBL_MAX);   // x = n pi/2 + (a.high + a.low)
//
// Limits: f64; an f32 argument is converted first.
#ifndef TEKTITE_JIT_LLVM_MATH_TRIGONOMETRIC_H_
#define TEKTITE_JIT_LLVM_MATH_TRIGONOMETRIC_H_

#include "jit/llvm/math/num.h"

namespace tektite::loop::math {

// x = n pi/2 + (high + low), |high| <= pi/4; n modulo 4 as an integer as wide as x.
struct AngleReduction {
  Num quadrant;
  Num high;
  Num low;
};

// For any finite f64 |x|; `most` is a bound on |x| that holds for every lane (FLT_MAX for f32
// arguments: the table is shorter).  Infinities and NaN return NaN.
AngleReduction ReduceAngle(Num x, double most);

}  // namespace tektite::loop::math

#endif  // TEKTITE_JIT_LLVM_MATH_TRIGONOMETRIC_H_
