#include "backends/gpu/emit/weight_exp.h"

#include <iterator>

#include "jit/llvm/math/coefficients.h"

namespace tektite::gpu {

using ir::DType;
using ir::Op;
using loop::Value;

// x = n ln2 + r with |r| <= ln2 / 2; exp(x) = 2^n (1 + r + r^2 q(r)).
Value WeightExp(loop::Builder& b, Value x) {
  constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;
  constexpr double kMagic = 12582912;            // 1.5 * 2^23: adding it rounds to an integer
  constexpr double kLeast = -87.33654475055310;  // ln(2^-126)
  constexpr int64_t kMantissaBits = 23, kBias = 127;
  const int lanes = x.lanes();
  const auto number = [&](double v) { return b.Splat(b.Float(DType::kF32, v), lanes); };
  const auto integer = [&](int64_t v) { return b.Splat(b.Int(DType::kS32, v), lanes); };
  const Value sum = b.Fma(x, number(kLog2E), number(kMagic));
  const Value n = b.Sub(sum, number(kMagic));
  // One ln2 is enough: n is at most 126, and the product is exact within fma.
  const Value r = b.Fma(n, number(-kLn2), x);
  Value q = number(*std::rbegin(loop::math::kExpF32));
  for (auto c = std::rbegin(loop::math::kExpF32) + 1; c != std::rend(loop::math::kExpF32); ++c) {
    q = b.Fma(q, r, number(*c));
  }
  const Value p = b.Fma(b.Fma(q, r, number(1)), r, number(1));
  // The last bits of the sum are n.  What is shifted out are the magic number's.
  Value power = b.Binary(Op::kShiftLeft, b.Bitcast(sum, DType::kS32), integer(kMantissaBits));
  power = b.Bitcast(b.Add(power, integer(kBias << kMantissaBits)), DType::kF32);
  // Below, n is beyond what a power can be.
  return b.Select(b.Compare("lt", x, number(kLeast)), number(0), b.Mul(p, power));
}

}  // namespace tektite::gpu
