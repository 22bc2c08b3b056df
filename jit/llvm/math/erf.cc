// erf and erfc.
//
// erf for |x| < 1: x + x P(x^2).  Beyond, in f64: erfc(x) = exp(-x^2) R(t) / (1 + 2x) with t = (x -
// 2) / (x + 2), whose R is smooth on all of [0, inf) (Shepherd and Laframboise, Mathematics of
// Computation 36, 1981).  In f32 erf's tail is two to a polynomial, without a division; erfc, which
// GELU is made of, is exp(-x^2) times either w Q(x w / 2) with w = 1 / (1 + x / 2), one formula for
// all x >= 0, or polynomials in pieces, where a register holds the pieces' coefficients.
// Errors: erf 1.5 ULP, erfc 3.5 ULP (f64 4).
#include <iterator>

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

// exp(a^2) erfc(a) for 0 <= a <= 10.2, but for a factor of 1 + the term that is added to
// `correction`.  Polynomials go by pairs: one chain would take longer than all the arithmetic.
Num ErfcxByDivision(Num a, Num* correction) {
  const Num half = a * 0.5;
  const Num w = 1 / (half + 1);
  const Num t = Fma(half, w, -121.0 / 256);
  const absl::Span<const double> c = kErfcxF32;
  const Num r = w * Fma(t, PolynomialByPairs(t, t * t, c.subspan(1)), c[0]);
  // The error of w against 1 / (1 + a / 2), relative to w.  A change of w changes w Q(a w / 2)
  // about w times as much.
  const Num lack = Fma(-w, half, 1 - w);
  *correction = Fma(w, lack, *correction);
  return r;
}

// The same where LookupInRegister is: a piece is a quarter of a power of two of 1 + a, told by four
// bits of it, and its variable what the mantissa has below them.
Num ErfcxInPieces(Num a) {
  constexpr int kPieceBits = 21;
  constexpr uint64_t kOne = 0x3f800000;
  const Num bits = AsInt(a + 1);
  const Num below = bits & bits.ConstantBits((1 << kPieceBits) - 1);
  const Num r = AsFloat(below | bits.ConstantBits(kOne)) - 1;
  const Num piece = ShiftRightLogical(bits, kPieceBits);
  const auto coefficient = [&](absl::Span<const double> of_pieces) {
    constexpr size_t kFirst = kOne >> kPieceBits;
    std::vector<double> by_bits(of_pieces.size());
    for (size_t j = 0; j < by_bits.size(); ++j) {
      by_bits[(kFirst + j) % by_bits.size()] = of_pieces[j];
    }
    return LookupInRegister(by_bits, piece);
  };
  size_t power = std::size(kErfcxPiecesF32) - 1;
  Num sum = coefficient(kErfcxPiecesF32[power]);
  while (power > 0) sum = Fma(sum, r, coefficient(kErfcxPiecesF32[--power]));
  return sum;
}

// f32: erfc(a) for 0 <= a <= 10.2, where it is 0.  The small corrections all go into exp's
// argument, where they cost no rounding.
Num ErfcF32(Num a) {
  const Num s = a * a;
  Num low = -Fma(a, a, -s);  // of the exact square's negative, -s + low
  const Num r = ScalesInOneInstruction(a) ? ErfcxInPieces(a) : ErfcxByDivision(a, &low);
  const ExpReduction e = ReduceExp(-s, low);
  const Num square = e.r * e.r;
  const Num p = Fma(square, PolynomialByPairs(e.r, square, kExpF32), e.r);
  return ScaleByPowerOfTwo(Fma(r, p, r), e.n);
}

}  // namespace

Num Erf(Num x) {
  const Num a = Abs(x);
  const Num tail = x.IsDouble() ? Tail(AtMost(a, 6)) : TailF32(AtMost(a, 4));
  return Select(a >= 1, CopySign(1 - tail, x), Series(x));  // NaN takes the series
}

Num Erfc(Num x) {
  if (!x.IsDouble()) {
    const Num tail = ErfcF32(AtMost(Abs(x), 10.2));
    return Select(x < 0, 2 - tail, tail);
  }
  const Num a = AtMost(Abs(x), 28);
  const Num tail = Tail(a);
  return Select(a < 0.5, 1 - Series(x), Select(x < 0, 2 - tail, tail));
}

}  // namespace tektite::loop::math
