// sin, cos, tan: reduction by pi/2 to two doubles, then polynomials.  f32 is computed in f64.
// Errors: f32 1 ULP, f64 1.5 ULP (tan 2.5).
#include "jit/llvm/math/trigonometric.h"

#include <cfloat>

#include "jit/llvm/math/coefficients.h"
#include "jit/llvm/math/math.h"

namespace tektite::loop::math {

namespace {

enum class Accuracy { kSingle, kDouble };

// sin(h + l) and cos(h + l) for |h| <= pi/4; the low part enters by its first derivative.
Num SinKernel(const AngleReduction& a, Accuracy accuracy) {
  const Num z = a.high * a.high;
  if (accuracy == Accuracy::kSingle) return Fma(a.high * z, Polynomial(z, kSinMid), a.high);
  const Num tail = Fma(a.high * z, Polynomial(z, kSinF64), Fma(z * -0.5, a.low, a.low));
  return a.high + tail;
}

Num CosKernel(const AngleReduction& a, Accuracy accuracy) {
  const Num z = a.high * a.high;
  if (accuracy == Accuracy::kSingle)
    return Fma(z * z, Polynomial(z, kCosMid), Fma(z, -0.5, z.Constant(1)));
  const Num half = z * 0.5;
  const Num w = 1 - half;
  const Num tail = Fma(z * z, Polynomial(z, kCosF64), -(a.high * a.low));
  return w + (((1 - w) - half) + tail);
}

// quadrant: 0 sin, 1 cos, 2 -sin, 3 -cos.
Num SinOfQuadrant(const AngleReduction& a, Num quadrant, Accuracy accuracy) {
  const Num odd = (quadrant & quadrant.Constant(1)) != 0;
  const Num y = Select(odd, CosKernel(a, accuracy), SinKernel(a, accuracy));
  return AsFloat(AsInt(y) ^ ((quadrant & quadrant.Constant(2)) << 62));
}

Num TanOfReduced(const AngleReduction& a, Accuracy accuracy) {
  const Num s = SinKernel(a, accuracy);
  const Num c = CosKernel(a, accuracy);
  const Num odd = (a.quadrant & a.quadrant.Constant(1)) != 0;
  return Select(odd, -c, s) / Select(odd, s, c);
}

}  // namespace

Num Sin(Num x) {
  if (x.IsDouble()) {
    const AngleReduction a = ReduceAngle(x, DBL_MAX);
    return Select(x == 0, x, SinOfQuadrant(a, a.quadrant, Accuracy::kDouble));
  }
  const AngleReduction a = ReduceAngle(ToDouble(x), FLT_MAX);
  return Select(x == 0, x, ToSingle(SinOfQuadrant(a, a.quadrant, Accuracy::kSingle)));
}

Num Cos(Num x) {
  const bool f64 = x.IsDouble();
  const AngleReduction a = ReduceAngle(f64 ? x : ToDouble(x), f64 ? DBL_MAX : FLT_MAX);
  const Num y = SinOfQuadrant(a, a.quadrant + 1, f64 ? Accuracy::kDouble : Accuracy::kSingle);
  return f64 ? y : ToSingle(y);
}

Num Tan(Num x) {
  const bool f64 = x.IsDouble();
  const AngleReduction a = ReduceAngle(f64 ? x : ToDouble(x), f64 ? DBL_MAX : FLT_MAX);
  const Num y = TanOfReduced(a, f64 ? Accuracy::kDouble : Accuracy::kSingle);
  return Select(x == 0, x, f64 ? y : ToSingle(y));
}

}  // namespace tektite::loop::math
