// Changes of the element type.
#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/reference/eval.h"
#include "jit/reference/scalar_ops.h"

namespace tektite::reference {

using ir::DispatchDType;
using ir::DType;
using ir::Literal;

namespace {

// Towards zero; the least of To where there is no room for x, and for NaN.
template <typename To>
To SignedOf(double x) {
  const double limit = std::ldexp(1.0, std::numeric_limits<To>::digits);
  return x >= -limit && x < limit ? static_cast<To>(x) : std::numeric_limits<To>::lowest();
}

// As x86 converts: 8 and 16 bits are limited, u32 is the lower half of an s64, u64 the bits of one
// but for the upper half of its range.
template <typename To>
To IntegerOf(double x) {
  if constexpr (sizeof(To) < 4) {
    return static_cast<To>(std::clamp<int32_t>(
        SignedOf<int32_t>(x), std::numeric_limits<To>::lowest(), std::numeric_limits<To>::max()));
  } else if constexpr (std::is_signed_v<To>) {
    return SignedOf<To>(x);
  } else if (x >= std::ldexp(1.0, 63) && x < std::ldexp(1.0, 64)) {
    return static_cast<To>(static_cast<uint64_t>(x));
  } else {
    return static_cast<To>(SignedOf<int64_t>(x));
  }
}

template <typename To, typename From>
To ConvertElement(From from) {
  const Wide<From> x = Widen(from);
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (kIsFloat<To>) {
    if constexpr (kIsFloat<From>) return Narrow<To>(x);
    // Integers reach f32 in one rounding, not by way of double; the 16-bit types by way of f32.
    if constexpr (std::is_same_v<To, double>) return static_cast<double>(x);
    return To(static_cast<float>(x));
  } else if constexpr (kIsFloat<From>) {
    return IntegerOf<To>(static_cast<double>(x));
  } else {
    return static_cast<To>(x);
  }
}

Literal Convert(const EvalContext& c) {
  const Literal& x = c.operand(0);
  Literal result = c.AllocateResult();
  DispatchDType(x.dtype(), [&](auto from) {
    DispatchDType(result.dtype(), [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        result.mutable_data<To>()[i] = ConvertElement<To>(x.data<From>()[i]);
      }
    });
  });
  return result;
}

}  // namespace

absl::StatusOr<Literals> EvalConvert(const EvalContext& c) {
  if (c.op() != ir::Op::kBitcast) return Literals{Convert(c)};
  return Literals{Literal::CopyOf(c.node.shape().dtype(), c.result_sizes(), c.operand(0).raw())};
}

}  // namespace tektite::reference
