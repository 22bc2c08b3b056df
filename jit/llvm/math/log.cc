// log and log1p.
//
// x = 2^k m with m in [sqrt(1/2), sqrt(2)), f = m - 1.  f32: f - f^2/2 + f^3 P(f).  f64: with
// s = f / (2 + f), log(1 + f) = 2 atanh(s), arranged so that the term added to f is small. Errors:
// 1 ULP, log1p 1.5 ULP.
#include <cmath>

#include "jit/llvm/math/coefficients.h"
#include "jit/llvm/math/math.h"

namespace tektite::loop::math {

namespace {

struct LogReduction {
  Num k;     // an integer, as a float
  Num f;     // m - 1
  Num bits;  // k as an integer
};

LogReduction ReduceLog(Num x) {
  const bool f64 = x.IsDouble();
  const int mantissa = f64 ? 52 : 23;
  const Num bits = AsInt(x);
  const Num half_root = bits.ConstantBits(f64 ? 0x3fe6a09e667f3bcd : 0x3f3504f3);
  const Num offset = bits - half_root;
  const Num k = offset >> mantissa;
  const Num mask = bits.ConstantBits(f64 ? 0xfffffffffffff : 0x7fffff);
  const Num m = AsFloat((offset & mask) + half_root);
  return {ToFloat(k), m - 1, k};
}

Num LogOfReduced(Num k, Num f) {
  if (!k.IsDouble()) {
    const Num tail = Fma(Polynomial(f, kLogF32), f, -0.5);
    return Fma(k, 0.693147182464599609, Fma(f * f, tail, f) + k * -1.904654299957767878e-9);
  }
  const Num s = f / (f + 2);
  const Num z = s * s;
  const Num half_square = f * f * 0.5;
  const Num r = z * Polynomial(z, kLogF64);
  const Num low = Fma(s, half_square + r, k * 2.319046813846299558e-17);
  return Fma(k, 0.693147180559945286, f - (half_square - low));
}

}  // namespace

Num Log(Num x) {
  const bool f64 = x.IsDouble();
  // Denormals are scaled up first.
  const Num small = x < (f64 ? 2.2250738585072014e-308 : 1.1754943508222875e-38);
  const Num scaled = Select(small, x * (f64 ? 18014398509481984.0 : 33554432.0), x);
  const LogReduction r = ReduceLog(scaled);
  const Num k = r.k + Select(small, x.Constant(f64 ? -54 : -25), x.Constant(0));
  const Num y = LogOfReduced(k, r.f);
  // Not positive and finite: -inf at zero, NaN below, the rest (inf, NaN) is its own logarithm.
  // Where the thread takes denormals for zero, scaling shows it; comparisons of x, which LLVM turns
  // into questions about its bits, would not, and computed log(1e-40) = -105.36.
  const Num special = Select(scaled == 0, -HUGE_VAL, Select(scaled < 0, std::nan(""), x));
  return Select((scaled > 0) & (scaled < HUGE_VAL), y, special);
}

Num Log1p(Num x) {
  const Num u = x + 1;
  const LogReduction r = ReduceLog(u);
  // The rounding error of 1 + x, scaled as m is.
  const bool f64 = x.IsDouble();
  const Num big = Abs(x) > 1;
  const Num lost = Select(big, (1 - (u - x)), x - (u - 1));
  const Num exponent = r.bits.Constant(f64 ? 1023 : 127) - r.bits;
  const Num inverse = AsFloat(Select(exponent < 1, 0, exponent) << (f64 ? 52 : 23));
  const Num y = LogOfReduced(r.k, Fma(lost, inverse, r.f));
  const Num special = Select(x == -1, -HUGE_VAL, Select(x < -1, std::nan(""), x));
  const Num tiny = Abs(x) < (f64 ? 1e-300 : 1e-30);
  return Select((x > -1) & (x < HUGE_VAL) & !tiny, y, special);
}

}  // namespace tektite::loop::math
