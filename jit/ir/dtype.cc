#include "jit/ir/dtype.h"

namespace tektite::ir {
namespace {

uint32_t Bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
float FromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

Half::Half(float value) {
  const uint32_t f = Bits(value);
  const uint32_t sign = (f >> 16) & 0x8000u;
  const uint32_t magnitude = f & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) {  // inf, or NaN kept quiet with its upper payload
    bits = static_cast<uint16_t>(
        sign | 0x7c00u | (magnitude > 0x7f800000u ? 0x200u | ((magnitude >> 13) & 0x3ffu) : 0u));
  } else if (magnitude >= 0x477ff000u) {  // 65520 and more round to infinity
    bits = static_cast<uint16_t>(sign | 0x7c00u);
  } else if (magnitude < 0x38800000u) {  // below 2^-14: a multiple of 2^-24
    // Adding 0.5 aligns the last mantissa bit with 2^-24, and the adder rounds to nearest even.
    bits = static_cast<uint16_t>(sign | (Bits(FromBits(magnitude) + 0.5f) - 0x3f000000u));
  } else {
    const uint32_t odd = (magnitude >> 13) & 1u;
    bits = static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
  }
}

Half::operator float() const {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return FromBits(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return FromBits(sign | Bits(magnitude));
  }
  return FromBits(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

BFloat16::BFloat16(float value) {
  const uint32_t f = Bits(value);
  if ((f & 0x7fffffffu) > 0x7f800000u) {
    bits = static_cast<uint16_t>((f >> 16) | 0x40u);
  } else {
    bits = static_cast<uint16_t>((f + 0x7fffu + ((f >> 16) & 1u)) >> 16);
  }
}

BFloat16::operator float() const { return FromBits(static_cast<uint32_t>(bits) << 16); }

absl::string_view DTypeName(DType dtype) {
  switch (dtype) {
#define TEKTITE_DTYPE(enumerator, text, bytes, type) \
  case DType::enumerator:                            \
    return text;
#include "jit/ir/dtype_list.inc"
#undef TEKTITE_DTYPE
  }
  return "?";
}

std::optional<DType> DTypeFromName(absl::string_view name) {
#define TEKTITE_DTYPE(enumerator, text, bytes, type) \
  if (name == text) return DType::enumerator;
#include "jit/ir/dtype_list.inc"
#undef TEKTITE_DTYPE
  return std::nullopt;
}

std::optional<DType> DTypeFromNumber(uint32_t number) {
#define TEKTITE_DTYPE(enumerator, text, bytes, type) \
  if (number == static_cast<uint32_t>(DType::enumerator)) return DType::enumerator;
#include "jit/ir/dtype_list.inc"
#undef TEKTITE_DTYPE
  return std::nullopt;
}

int DTypeBytes(DType dtype) {
  switch (dtype) {
#define TEKTITE_DTYPE(enumerator, text, bytes, type) \
  case DType::enumerator:                            \
    return bytes;
#include "jit/ir/dtype_list.inc"
#undef TEKTITE_DTYPE
  }
  return 0;
}

}  // namespace tektite::ir
