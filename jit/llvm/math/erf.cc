// erf and erfc.
//
// erf for |x| < 1: x + x P(x^2).  Beyond, in f64: erfc(x) = exp(-x^2) R(t) / (1 + 2x) with t = (x -
// 2) / (x + 2), whose R is smooth on all of [0, inf) (Shepherd and Laframboise, Mathematics of
// Computation 36, 1981). In f32 log2 of erfc is a polynomial.  Errors: erf 1.5 ULP, erfc 4 ULP.
#include "jit/llvm/math/coefficients.h"
#include "jit/llvm/math/exp.h"
#include "jit/llvm/math/math.h"

namespace tektite::loop::math {

namespace {

// erf(x) for |x| < 1: x + x P(x^2), where P is small.
Num Series(Num x) {
  const Num z = x * x;
  return Fma(x, x.IsDouble() ? Polynomial(z, kErfF64) : Polynomial(z, kErfF32), x);
}

// f64: erfc(a) for a >= 0.5.
Num Tail(Num a) {
  const Num t = (a - 2) / (a + 2);
  const Num r = Polynomial(t, kErfcxF64);
  // exp(-(s + d)) with s + d the exact square.
  const Num s = a * a;
  const Num d = Fma(a, a, -s);
  const Num e = ExpScaled(-s, 0);
  return Fma(e, -d, e) * (r / Fma(a, 2, a.Constant(1)));
}

// f32: erfc(a) for 1 <= a <= 4, absolutely to 2^-26: two to a polynomial, without a division.
Num TailF32(Num a) {
  const Num y = Polynomial(a, kErfTailF32);
  const Num t = y + 12582912.0;
  const Num p = Polynomial(y - (t - 12582912.0), kExp2F32);
  return AsFloat(AsInt(p) + (AsInt(t) << 23));
}

}  // namespace

Num Erf(Num x) {
  const Num a = Abs(x);
  const Num tail = x.IsDouble() ? Tail(AtMost(a, 6)) : TailF32(AtMost(a, 4));
  return Select(a >= 1, CopySign(1 - tail, x), Series(x));  // NaN takes the series
}

Num Erfc(Num x) {
  if (!x.IsDouble()) return ToSingle(Erfc(ToDouble(x)));
  const Num a = AtMost(Abs(x), 28);
  const Num tail = Tail(a);
  return Select(a < 0.5, 1 - Series(x), Select(x < 0, 2 - tail, tail));
}

}  // namespace tektite::loop::math
