// Element types of tensors, and the two 16-bit float storage types.
//
// String, resource and quantized types have no place here: graphs that use them stay with the host.
// A complex tensor is two real ones (docs/design/complex.md).  The table is dtype_list.inc.
#ifndef TEKTITE_JIT_IR_DTYPE_H_
#define TEKTITE_JIT_IR_DTYPE_H_

#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/strings/string_view.h"

namespace tektite::ir {

// IEEE binary16; conversion from float rounds to nearest even.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
};

// The upper half of a float; conversion from float rounds to nearest even, NaN stays NaN.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value);
  explicit operator float() const;
};

enum class DType : uint8_t {
#define TEKTITE_DTYPE(enumerator, text, bytes, type) enumerator,
#include "jit/ir/dtype_list.inc"
#undef TEKTITE_DTYPE
};

absl::string_view DTypeName(DType dtype);  // "f32"
std::optional<DType> DTypeFromName(absl::string_view name);
std::optional<DType> DTypeFromNumber(uint32_t number);  // of static_cast<uint32_t>(dtype)
int DTypeBytes(DType dtype);

inline bool IsFloat(DType d) { return d >= DType::kF16; }
inline bool IsSigned(DType d) { return (d >= DType::kS8 && d <= DType::kS64) || IsFloat(d); }
inline bool IsUnsigned(DType d) { return d >= DType::kU8 && d <= DType::kU64; }
inline bool IsInteger(DType d) { return d >= DType::kS8 && d <= DType::kU64; }

// DType of a C++ storage type: DTypeOf<float>() == DType::kF32.
template <typename T>
DType DTypeOf();
#define TEKTITE_DTYPE(enumerator, text, bytes, type) \
  template <>                                        \
  inline DType DTypeOf<type>() {                     \
    return DType::enumerator;                        \
  }
#include "jit/ir/dtype_list.inc"
#undef TEKTITE_DTYPE

// Calls `f` with a value of the storage type: DispatchDType(d, [&](auto zero) { using T =
// decltype(zero); ... }).
template <typename F>
auto DispatchDType(DType dtype, F&& f) {
  switch (dtype) {
#define TEKTITE_DTYPE(enumerator, text, bytes, type) \
  case DType::enumerator:                            \
    return f(type());
#include "jit/ir/dtype_list.inc"
#undef TEKTITE_DTYPE
  }
  __builtin_unreachable();
}

}  // namespace tektite::ir

#endif  // TEKTITE_JIT_IR_DTYPE_H_
