// Random numbers: Philox 4x32-10 of Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
// as 1, 2, 3" (SC 2011).  The state's first word is the key, the second counts blocks of four u32.
#include <array>
#include <cmath>

#include "jit/reference/eval.h"
#include "jit/reference/scalar_ops.h"

namespace tektite::reference {

using ir::DType;
using ir::Literal;
using ir::Op;

namespace {

std::array<uint32_t, 4> PhiloxBlock(uint64_t key, uint64_t counter) {
  std::array<uint32_t, 4> x = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                               0, 0};
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * x[0], p1 = uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<uint32_t>(p1 >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return x;
}

// The stream of words that belongs to a state, read at any place.
class Bits {
 public:
  explicit Bits(const Literal& state)
      : key_(state.data<uint64_t>()[0]), counter_(state.data<uint64_t>()[1]) {}

  uint32_t Word32(uint64_t i) const { return PhiloxBlock(key_, counter_ + i / 4)[i % 4]; }
  uint64_t Word64(uint64_t i) const {
    return Word32(2 * i) | static_cast<uint64_t>(Word32(2 * i + 1)) << 32;
  }
  // In [0, 1), a multiple of 2^-24 or, for f64, 2^-53.
  double Uniform(uint64_t i, bool is_double) const {
    return is_double ? static_cast<double>(Word64(i) >> 11) * 0x1p-53
                     : static_cast<double>(Word32(i) >> 8) * 0x1p-24;
  }
  // Box and Muller: numbers 2j and 2j + 1 come from the uniform numbers 2j and 2j + 1.
  double Normal(uint64_t i, bool is_double) const {
    const uint64_t even = i & ~uint64_t{1};
    const double radius = std::sqrt(-2 * std::log(1 - Uniform(even, is_double)));
    const double angle = 6.283185307179586 * Uniform(even + 1, is_double);
    return radius * (i == even ? std::cos(angle) : std::sin(angle));
  }

 private:
  uint64_t key_, counter_;
};

Literals BitGenerator(const EvalContext& c) {
  const Bits bits(c.operand(0));
  Literal result = c.AllocateResult(1);
  const uint64_t n = result.num_elements();
  uint64_t words = n;
  if (result.dtype() == DType::kU32) {
    for (uint64_t i = 0; i < n; ++i) result.mutable_data<uint32_t>()[i] = bits.Word32(i);
  } else {
    words = 2 * n;
    for (uint64_t i = 0; i < n; ++i) result.mutable_data<uint64_t>()[i] = bits.Word64(i);
  }
  const uint64_t* state = c.operand(0).data<uint64_t>();
  return {Literal::FromVector<uint64_t>({2}, {state[0], state[1] + (words + 3) / 4}), result};
}

// low + u * (high - low) for floats, which stays below high unless it rounds up; low + u64 mod
// (high - low) for integers.
Literal Distributed(const EvalContext& c) {
  const Bits bits(c.operand(0));
  Literal result = c.AllocateResult();
  const bool is_double = result.dtype() == DType::kF64;
  DispatchDType(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = result.mutable_data<T>();
    const Wide<T> a = Widen(c.operand(1).data<T>()[0]), b = Widen(c.operand(2).data<T>()[0]);
    for (int64_t i = 0; i < result.num_elements(); ++i) {
      if constexpr (kIsFloat<T>) {
        to[i] = Narrow<T>(c.op() == Op::kRngNormal ? a + b * bits.Normal(i, is_double)
                                                   : a + bits.Uniform(i, is_double) * (b - a));
      } else {
        const uint64_t low = static_cast<uint64_t>(a), range = static_cast<uint64_t>(b) - low;
        to[i] = static_cast<T>(range == 0 ? low : low + bits.Word64(i) % range);
      }
    }
  });
  return result;
}

}  // namespace

absl::StatusOr<Literals> EvalRandom(const EvalContext& c) {
  if (c.op() == Op::kRngBitGenerator) return BitGenerator(c);
  return Literals{Distributed(c)};
}

}  // namespace tektite::reference
