// Random bits: Philox 4x32-10 of Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
// as 1, 2, 3" (SC 2011).  The state's first word is the key, the second counts blocks of four u32.
#include <array>

#include "jit/reference/eval.h"

namespace tektite::reference {

using ir::DType;
using ir::Literal;

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

 private:
  uint64_t key_, counter_;
};

}  // namespace

absl::StatusOr<Literals> EvalRandom(const EvalContext& c) {
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
  return Literals{Literal::FromVector<uint64_t>({2}, {state[0], state[1] + (words + 3) / 4}),
                  result};
}

}  // namespace tektite::reference
