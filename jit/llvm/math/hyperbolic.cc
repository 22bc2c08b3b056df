// tanh, sinh, cosh and their inverses.
//
// Small arguments take an odd polynomial (or expm1), large ones exp; the inverses are log1p of an
// argument formed without cancellation, f32 by way of f64.  Errors: tanh 1.5 ULP (f64 2.5), all
// other functions 2 ULP.
#include <cmath>

#include "jit/llvm/math/coefficients.h"
#include "jit/llvm/math/exp.h"
#include "jit/llvm/math/math.h"

namespace tektite::loop::math {

namespace {

// x (1 + x^2 P(x^2))
template <typename Coefficients>
Num Odd(Num x, const Coefficients& coefficients) {
  const Num z = x * x;
  return Fma(x * z, Polynomial(z, coefficients), x);
}

constexpr double kLn2 = 0.69314718055994531;

}  // namespace

Num Tanh(Num x) {
  const Num a = Abs(x);
  if (x.IsDouble()) {
    const Num t = Expm1(AtMost(a, 22) * 2);
    return CopySign(t / (t + 2), x);
  }
  const Num large = 1 - 2 / (ExpScaled(AtMost(a, 10) * 2, 0) + 1);
  return CopySign(Select(a < 0.625, Odd(a, kTanhF32), large), x);
}

Num Sinh(Num x) {
  const Num e = ExpScaled(Abs(x), -1);
  const Num large = CopySign(e - 0.25 / e, x);
  const Num small = x.IsDouble() ? Odd(x, kSinhF64) : Odd(x, kSinhF32);
  return Select(Abs(x) < 1, small, large);
}

Num Cosh(Num x) {
  const Num e = ExpScaled(Abs(x), -1);
  return e + 0.25 / e;
}

Num Asinh(Num x) {
  if (!x.IsDouble()) return ToSingle(Asinh(ToDouble(x)));
  // log(a + sqrt(a^2 + 1)) = log1p(a + a^2 / (1 + sqrt(a^2 + 1))); from 2^28 on log(2 a).
  const Num a = Abs(x);
  const Num large = a > 268435456.0;
  const Num square = a * a;
  const Num argument = a + square / (Sqrt(square + 1) + 1);
  const Num y = Select(large, Log(a) + kLn2, Log1p(Select(large, 1, argument)));
  return CopySign(y, x);
}

Num Acosh(Num x) {
  if (!x.IsDouble()) return ToSingle(Acosh(ToDouble(x)));
  const Num large = x > 268435456.0;
  const Num t = x - 1;
  const Num argument = t + Sqrt(Fma(t, t, t * 2));
  const Num y = Select(large, Log(x) + kLn2, Log1p(Select(large, 1, argument)));
  return Select(x < 1, std::nan(""), y);
}

Num Atanh(Num x) {
  if (!x.IsDouble()) return ToSingle(Atanh(ToDouble(x)));
  const Num a = Abs(x);
  const Num y = 0.5 * Log1p(a * 2 / (1 - a));
  return CopySign(y, x);
}

}  // namespace tektite::loop::math
