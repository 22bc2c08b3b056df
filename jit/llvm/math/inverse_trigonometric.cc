// asin, acos, atan, atan2: odd polynomials after one reduction.  Errors: 3 ULP.
#include <cmath>

#include "jit/llvm/math/coefficients.h"
#include "jit/llvm/math/math.h"

namespace tektite::loop::math {

namespace {

// pi / 2 in two parts.
double High(Num x) { return x.IsDouble() ? 1.5707963267948966 : 1.57079637050628662; }
double Low(Num x) { return x.IsDouble() ? 6.123233995736766e-17 : -4.37113900018624283e-8; }

// asin(x) for |x| <= 1/2.
Num SmallAsin(Num x) {
  const Num z = x * x;
  return Fma(x * z, x.IsDouble() ? Polynomial(z, kAsinF64) : Polynomial(z, kAsinF32), x);
}

// atan(x) for 0 <= x: pi/4 + atan((x - 1) / (x + 1)) or pi/2 + atan(-1 / x) where x is larger.
Num PositiveAtan(Num x) {
  const Num big = x > 2.414213562373095;
  const Num middle = x > 0.4142135623730951;
  const Num t =
      Select(big, -1, Select(middle, x - 1, x)) / Select(big, x, Select(middle, x + 1, 1));
  const Num base = Select(big, High(x), Select(middle, x.Constant(High(x) / 2), x.Constant(0)));
  const Num low = Select(big, Low(x), Select(middle, x.Constant(Low(x) / 2), x.Constant(0)));
  const Num z = t * t;
  const Num p = x.IsDouble() ? Polynomial(z, kAtanF64) : Polynomial(z, kAtanF32);
  return base + (Fma(t * z, p, low) + t);
}

}  // namespace

Num Asin(Num x) {
  const Num a = Abs(x);
  const Num large = a > 0.5;
  const Num half = (1 - a) * 0.5;
  const Num s = SmallAsin(Select(large, Sqrt(half), a));
  const Num y = Select(large, High(x) - (s * 2 - Low(x)), s);
  return CopySign(y, x);
}

Num Acos(Num x) {
  const Num a = Abs(x);
  const Num large = a > 0.5;
  const Num s = SmallAsin(Select(large, Sqrt((1 - a) * 0.5), x));
  const Num beyond = Select(x < 0, High(x) * 2 - (s * 2 - 2 * Low(x)), s * 2);
  return Select(large, beyond, High(x) - (s - Low(x)));
}

Num Atan(Num x) { return CopySign(PositiveAtan(Abs(x)), x); }

Num Atan2(Num y, Num x) {
  const Num a = Abs(y);
  const Num b = Abs(x);
  const Num steep = a > b;
  const Num numerator = Select(steep, b, a);
  const Num denominator = Select(steep, a, b);
  // 0/0 is 0 and inf/inf is 1 here: the axes and diagonals of Annex F.
  Num q = Select(denominator == 0, 0, numerator / denominator);
  q = Select(numerator == HUGE_VAL, 1, q);
  Num angle = PositiveAtan(q);
  angle = Select(steep, High(x) - (angle - Low(x)), angle);
  const Num negative = AsInt(x) < 0;
  angle = Select(negative, 2 * High(x) - (angle - 2 * Low(x)), angle);
  return Select(IsNan(x) | IsNan(y), x + y, CopySign(angle, y));
}

}  // namespace tektite::loop::math
