// rsqrt and pow.
//
// pow is exp(y log|x|) with log|x| as a sum of two doubles good to about 2^-65 (f32: one double),
// then the cases of Annex F.  Errors: rsqrt 1.5 ULP, pow 1 ULP (f32), 2 ULP (f64).
#include <cmath>

#include "jit/llvm/math/coefficients.h"
#include "jit/llvm/math/exp.h"
#include "jit/llvm/math/math.h"

namespace tektite::loop::math {

namespace {

struct Pair {
  Num high;
  Num low;
};

Pair FastTwoSum(Num a, Num b) {  // |a| >= |b|
  const Num s = a + b;
  return {s, b - (s - a)};
}

// x = 2^k m, m in [sqrt(1/2), sqrt(2)), for positive finite f64 x.
Pair Split(Num x) {
  const Num small = x < 2.2250738585072014e-308;
  const Num bits = AsInt(Select(small, x * 18014398509481984.0, x));
  const Num half_root = bits.ConstantBits(0x3fe6a09e667f3bcd);
  const Num offset = bits - half_root;
  const Num m = AsFloat((offset & bits.ConstantBits(0xfffffffffffff)) + half_root);
  const Num k = ToFloat(offset >> 52) - Select(small, x.Constant(54), x.Constant(0));
  return {k, m};
}

// log(x) of positive finite x, as a pair.
Pair LogPair(Num x) {
  const Pair split = Split(x);
  const Num f = split.low - 1;
  // s = f / (2 + f) with its remainder: log(m) = 2 s + 2/3 s^3 + ...
  const Num d = f + 2;
  const Num d_low = f - (d - 2);
  const Num s = f / d;
  const Num s_low = (Fma(-s, d, f) - s * d_low) / d;
  // s^2 and s^3 as pairs; 2/3 s^3 is at most 0.0034 of the sum's 0.35, so it needs 11 bits more
  // than a double has, and the terms after it none.
  const Num z = s * s;
  const Num z_low = Fma(s, s, -z) + 2 * s * s_low;
  const Num cube = s * z;
  const Num cube_low = Fma(s, z, -cube) + Fma(s, z_low, s_low * z);
  constexpr double kTwoThirds = 0.66666666666666663, kTwoThirdsLow = 3.700743415417188e-17;
  const Num third = cube * kTwoThirds;
  const Num third_low =
      Fma(cube, kTwoThirds, -third) + Fma(cube, kTwoThirdsLow, cube_low * kTwoThirds);
  const Num tail = cube * z * Polynomial(z, kAtanhTail);
  // k ln2 with 32 bits in the first part, so that the product is exact.
  constexpr double kLn2High = 0.69314718055989033, kLn2Low = 5.497923018708371e-14;
  const Num k = split.high;
  Pair sum = FastTwoSum(k * kLn2High, s * 2);
  // |k ln2| is 0 or at least 0.69 > |2 s|; with k = 0 the sum is exact either way.
  sum.low = sum.low + Fma(k, kLn2Low, Fma(s_low, 2, third_low)) + tail;
  const Pair next = FastTwoSum(sum.high, third);
  return FastTwoSum(next.high, next.low + sum.low);
}

// exp(h + l)
Num ExpOfPair(Num high, Num low) {
  const Num x = AtLeast(AtMost(high, 711), -747);
  const ExpReduction e = ReduceExp(x);
  const Num r = e.r + low;
  const Num p = Fma(r * r, Polynomial(r, kExpF64), r) + 1;
  return ScaleByPowerOfTwo(p, e.n);
}

Num PositivePower(Num x, Num y, bool single) {
  if (single) {
    // One double carries log|x| well enough: 2^-50 of at most 104.
    const Pair split = Split(x);
    const Num s = (split.low - 1) / (split.low + 1);
    const Num z = s * s;
    const Num log_m = Fma(s * z, Polynomial(z, kLogF64), s * 2);
    const Num t = y * Fma(split.high, 0.69314718055994531, log_m);
    const ExpReduction e = ReduceExp(AtLeast(AtMost(t, 200), -200));
    const Num p = Fma(e.r * e.r, Polynomial(e.r, kExpMid), e.r) + 1;
    return p * PowerOfTwo(e.n);
  }
  const Pair log_x = LogPair(x);
  const Num high = log_x.high * y;
  const Num low = Fma(log_x.high, y, -high) + log_x.low * y;
  const Num in_range = Abs(high) < 800;
  return ExpOfPair(high, Select(in_range, low, 0));
}

Num PowOfDoubles(Num x, Num y, bool single) {
  const Num a = Abs(x);
  const Num safe = Select((a > 0) & (a < HUGE_VAL), a, 1);
  // A y beyond 2^70 over- or underflows unless |x| is 1: limited, its products stay finite.
  const Num limited = AtLeast(AtMost(y, 0x1p70), -0x1p70);
  Num p = PositivePower(safe, limited, single);
  // |x| of 0 or infinity.
  const Num grows = (a > 1) == (y > 0);
  p = Select((a == 0) | (a == HUGE_VAL), Select(grows, HUGE_VAL, p.Constant(0)), p);
  p = Select((a == 1) & !IsNan(y), 1, p);
  const Num integral = Trunc(y) == y;
  const Num half = y * 0.5;
  const Num odd = integral & (Trunc(half) != half) & (Abs(y) < HUGE_VAL);
  const Num negative = AsInt(x) < 0;
  p = Select(negative & odd, -p, p);
  // A negative finite base needs an integral exponent.
  p = Select((x < 0) & (a < HUGE_VAL) & !integral, std::nan(""), p);
  p = Select(IsNan(x) | IsNan(y), x + y, p);
  return Select((y == 0) | (x == 1), 1, p);
}

}  // namespace

Num Rsqrt(Num x) { return 1 / Sqrt(x); }

Num Pow(Num x, Num y) {
  if (x.IsDouble()) return PowOfDoubles(x, y, false);
  return ToSingle(PowOfDoubles(ToDouble(x), ToDouble(y), true));
}

}  // namespace tektite::loop::math
