// exp, expm1 and the logistic function.
//
// x = n ln2 + r with |r| <= ln2 / 2; exp(x) = 2^n (1 + r + r^2 q(r)).  ln2 is taken in two parts,
// so that fma computes r almost exactly.  With a table of 2^(j/16) in a register (f64: 2^(j/8)), n
// counts sixteenths and q is short.  Errors: exp 1.1 ULP, expm1 2 ULP, logistic 2.5 ULP.
#include "jit/llvm/math/exp.h"

#include <cmath>

#include "jit/llvm/math/coefficients.h"
#include "jit/llvm/math/math.h"

namespace tektite::loop::math {

namespace {

constexpr double kLog2E = 1.4426950408889634;

// An integer near x / ln2, as a float.
Num ExponentOf(Num x) {
  // Adding 1.5 * 2^mantissa rounds to an integer.
  const double magic = x.IsDouble() ? 6755399441055744.0 : 12582912.0;
  return Fma(x, kLog2E, magic) - magic;
}

double Ln2High(Num x) { return x.IsDouble() ? 0.693147180559945286 : 0.693147182464599609; }
double Ln2Low(Num x) { return x.IsDouble() ? 2.319046813846299558e-17 : -1.904654299957767878e-9; }

}  // namespace

ExpReduction ReduceExp(Num x) {
  const Num n = ExponentOf(x);
  return {n, Fma(n, -Ln2Low(x), Fma(n, -Ln2High(x), x))};
}

ExpReduction ReduceExp(Num high, Num low) {
  const Num n = ExponentOf(high);
  return {n, Fma(n, -Ln2High(high), high) + Fma(n, -Ln2Low(high), low)};
}

Num PowerOfTwo(Num n) {
  const double magic = n.IsDouble() ? 6755399441055744.0 : 12582912.0;
  const Num bits = AsInt(n + magic);
  return AsFloat((bits + (n.IsDouble() ? 1023.0 : 127.0)) << (n.IsDouble() ? 52 : 23));
}

Num ExpScaled(Num x, double shift) {
  const bool any_n = ScalesInOneInstruction(x);
  // Beyond these the result is 0 or infinity; n stays in the range of the scaling.
  if (!any_n) x = AtLeast(AtMost(x, x.IsDouble() ? 711 : 90), x.IsDouble() ? -747 : -105);
  ExpReduction e = ReduceExp(x);
  // Where n is out of range r is anything, also NaN; n then says what the result is.
  if (any_n) e.r = WithMagnitudeAtMost(e.r, 0.375);
  const Num q = x.IsDouble() ? Polynomial(e.r, kExpF64) : Polynomial(e.r, kExpF32);
  const Num p = Fma(Fma(q, e.r, 1), e.r, 1);
  return ScaleByPowerOfTwo(p, shift == 0 ? e.n : e.n + shift);
}

Num Exp(Num x) {
  if (!ScalesInOneInstruction(x)) return ExpScaled(x, 0);
  const bool f64 = x.IsDouble();
  // 1.5 * 2^mantissa over the table's size: sums are multiples of 1/16 (1/8), j their last bits.
  const double magic = f64 ? 844424930131968.0 : 786432.0;
  const Num sum = Fma(x, kLog2E, magic);
  const Num n = sum - magic;
  const Num power =
      f64 ? LookupInRegister(
                {kExp2Sixteenths[0], kExp2Sixteenths[2], kExp2Sixteenths[4], kExp2Sixteenths[6],
                 kExp2Sixteenths[8], kExp2Sixteenths[10], kExp2Sixteenths[12], kExp2Sixteenths[14]},
                AsInt(sum))
          : LookupInRegister(kExp2Sixteenths, AsInt(sum));
  const Num near = Fma(n, -Ln2High(x), x), r = Fma(n, -Ln2Low(x), near);
  // In what is of second order near costs f32 0.05 ULP at most (f64: 5), and does not wait for r.
  const Num s = f64 ? r : near;
  const Num q = f64 ? PolynomialByPairs(s, s * s, kExpEighthF64) : Polynomial(s, kExpSixteenthF32);
  // Where n is out of range r is anything, also NaN; n then says what the result is.
  const Num m = WithMagnitudeAtMost(Fma(s * s, q, r), f64 ? 0.125 : 0.0625);
  // The scaling takes n down to an integer.
  return ScaleByPowerOfTwo(Fma(power, m, power), n);
}

Num Expm1(Num x) {
  const Num limited = AtLeast(AtMost(x, x.IsDouble() ? 711 : 90), x.IsDouble() ? -40 : -20);
  const ExpReduction e = ReduceExp(limited);
  const Num q = x.IsDouble() ? Polynomial(e.r, kExpm1F64) : Polynomial(e.r, kExpm1F32);
  const Num p = Fma(e.r * e.r, q, e.r);
  // Half the power, so that it does not overflow before the result does.  The largest limited x has
  // n - 1 past the last exponent by one at most, and overflows either way.
  const Num half = PowerOfTwo(AtMost(e.n - 1, x.IsDouble() ? 1023 : 127));
  const Num scaled = Fma(half, p, half - 0.5) * 2;
  // n = 0 keeps the sign of zero and every bit of a denormal.
  return Select(e.n == 0, CopySign(p, x),
                Select(x > (x.IsDouble() ? 710.0 : 89.0), HUGE_VAL, scaled));
}

Num Logistic(Num x) {
  // From exp(-|x|), which does not overflow: 1 / (1 + e) or e / (1 + e).
  const Num e = ExpScaled(-Abs(x), 0);
  return Select(x < 0, e, 1) / (e + 1);
}

}  // namespace tektite::loop::math
