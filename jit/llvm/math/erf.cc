// erf and erfc.
//
// |x| < 1: x P(x^2).  Beyond: erfc(x) = exp(-x^2) R(t) / (1 + 2x) with t = (x - 2) / (x + 2), whose
// R is smooth on all of [0, inf) (Shepherd and Laframboise, Mathematics of Computation 36, 1981).
// Errors: erf 2 ULP, erfc 4 ULP.
#include "jit/llvm/math/coefficients.h"
#include "jit/llvm/math/exp.h"
#include "jit/llvm/math/math.h"

namespace tektite::loop::math {

namespace {

Num Series(Num x) {
  const Num z = x * x;
  return x * (x.IsDouble() ? Polynomial(z, kErfF64) : Polynomial(z, kErfF32));
}

// erfc(a) for a >= 1.
Num Tail(Num a) {
  const Num t = (a - 2) / (a + 2);
  const Num r = a.IsDouble() ? Polynomial(t, kErfcxF64) : Polynomial(t, kErfcxF32);
  // exp(-(s + d)) with s + d the exact square.
  const Num s = a * a;
  const Num d = Fma(a, a, -s);
  const Num e = ExpScaled(-s, 0);
  return Fma(e, -d, e) * (r / Fma(a, 2, a.Constant(1)));
}

}  // namespace

Num Erf(Num x) {
  const Num a = Abs(x);
  const Num tail = CopySign(1 - Tail(AtMost(a, x.IsDouble() ? 6 : 4)), x);
  return Select(a < 1, Series(x), tail);
}

Num Erfc(Num x) {
  if (!x.IsDouble()) return ToSingle(Erfc(ToDouble(x)));
  const Num a = AtMost(Abs(x), 28);
  const Num tail = Tail(a);
  return Select(a < 1, 1 - Series(x), Select(x < 0, 2 - tail, tail));
}

}  // namespace tektite::loop::math
