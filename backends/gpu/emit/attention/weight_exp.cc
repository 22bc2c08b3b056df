#include "backends/gpu/emit/attention/weight_exp.h"

#include "backends/gpu/emit/names.h"

#include <iterator>

namespace tektite::gpu {

namespace {

// exp(r) = 1 + r + r^2 q(r) for |r| <= ln2 / 2: 2^-17.5, where f16 rounds to 2^-12.
constexpr double kWeightExp[] = {5.00051262e-1, 1.67536008e-1, 4.12773686e-2};

}  // namespace

// x = n ln2 + r; exp(x) = 2^n exp(r).
Value WeightExp(loop::Builder& b, Value x) {
  constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;
  constexpr double kMagic = 12582912;  // 1.5 * 2^23: adding it rounds to an integer
  constexpr int64_t kMantissaBits = 23, kBias = 127;
  constexpr double kLeast = -127 * kLn2;  // n is -127 there, and its power the bits of 0
  const int lanes = x.lanes();
  const auto number = [&](double v) { return b.Splat(b.Float(DType::kF32, v), lanes); };
  const auto integer = [&](int64_t v) { return b.Splat(b.Int(DType::kS32, v), lanes); };
  x = b.Max(x, number(kLeast));
  const Value sum = b.Fma(x, number(kLog2E), number(kMagic));
  const Value n = b.Sub(sum, number(kMagic));
  // One ln2 is enough: n is at most 127, and the product is exact within fma.
  const Value r = b.Fma(n, number(-kLn2), x);
  Value q = number(*std::rbegin(kWeightExp));
  for (auto c = std::rbegin(kWeightExp) + 1; c != std::rend(kWeightExp); ++c) {
    q = b.Fma(q, r, number(*c));
  }
  const Value p = b.Fma(b.Fma(q, r, number(1)), r, number(1));
  // The last bits of the sum are n.  What is shifted out are the magic number's.
  Value power = b.Binary(Op::kShiftLeft, b.Bitcast(sum, DType::kS32), integer(kMantissaBits));
  power = b.Bitcast(b.Add(power, integer(kBias << kMantissaBits)), DType::kF32);
  return b.Mul(p, power);
}

}  // namespace tektite::gpu
