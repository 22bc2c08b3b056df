#include "jit/ir/literal.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "jit/base/hash.h"
#include "jit/base/rounding.h"

namespace tektite::ir {
namespace {

constexpr int64_t kMaxPrintedElements = 64;

// Prints so that parsing returns the same bits; NaN keeps its payload as "nan:<hex bits>".
template <typename T>
std::string ElementText(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return absl::StrCat(value);
  } else {
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const double d = static_cast<double>(static_cast<Wide>(value));
    if (std::isnan(d)) {
      return "nan:" + absl::BytesToHexString(
                          absl::string_view(reinterpret_cast<const char*>(&value), sizeof(value)));
    }
    if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
    return absl::StrFormat(std::is_same_v<T, double> ? "%.17g" : "%.9g", d);
  }
}

}  // namespace

Literal Literal::Allocate(DType dtype, std::vector<int64_t> sizes) {
  const int64_t bytes = SaturatingMul(Product(sizes), DTypeBytes(dtype));
  constexpr int64_t kLine = 64;
  void* const data =
      IsSaturated(bytes) ? nullptr : std::aligned_alloc(kLine, RoundUp(bytes + kLine, kLine));
  if (data == nullptr) throw std::bad_alloc();
  return Literal(dtype, std::move(sizes), std::shared_ptr<const void>(data, std::free));
}

Literal Literal::CopyOf(DType dtype, std::vector<int64_t> sizes, const void* data) {
  Literal literal = Allocate(dtype, std::move(sizes));
  if (literal.num_bytes() > 0) std::memcpy(literal.mutable_data<char>(), data, literal.num_bytes());
  return literal;
}

Literal Literal::ScalarOf(DType dtype, double value) {
  return DispatchDType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return Scalar<T>(T(static_cast<float>(value)));
    } else {
      return Scalar<T>(static_cast<T>(value));
    }
  });
}

Literal Literal::LowestOf(DType dtype) {
  return DispatchDType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T>) {
      return Scalar<T>(std::numeric_limits<T>::lowest());
    } else {
      return ScalarOf(dtype, -std::numeric_limits<double>::infinity());
    }
  });
}

Literal Literal::HighestOf(DType dtype) {
  return DispatchDType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T>) {
      return Scalar<T>(std::numeric_limits<T>::max());
    } else {
      return ScalarOf(dtype, std::numeric_limits<double>::infinity());
    }
  });
}

double Literal::AsDouble(int64_t i) const {
  return DispatchDType(dtype_, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return static_cast<double>(static_cast<float>(data<T>()[i]));
    } else {
      return static_cast<double>(data<T>()[i]);
    }
  });
}

int64_t Literal::AsInt(int64_t i) const {
  return DispatchDType(dtype_, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      return static_cast<int64_t>(data<T>()[i]);
    } else {
      return static_cast<int64_t>(AsDouble(i));
    }
  });
}

std::vector<int64_t> Literal::AsInts() const {
  std::vector<int64_t> values(num_elements());
  for (size_t i = 0; i < values.size(); ++i) values[i] = AsInt(i);
  return values;
}

bool Literal::IsAll(double value) const {
  int64_t n = num_elements();
  if (n == 0) return false;
  if (n > 1 && !IsSplat()) return false;
  return AsDouble(0) == value;
}

bool Literal::IsSplat() const {
  int64_t n = num_elements();
  if (n == 0) return false;
  size_t bytes = DTypeBytes(dtype_);
  const char* p = data<char>();
  return n == 1 || std::memcmp(p, p + bytes, (n - 1) * bytes) == 0;
}

std::string Literal::ToString() const {
  std::string text = absl::StrCat(shape().ToString(), "{");
  if (num_elements() > kMaxPrintedElements) {
    absl::StrAppend(&text, "#",
                    absl::BytesToHexString(absl::string_view(data<char>(), num_bytes())));
  } else {
    for (int64_t i = 0; i < num_elements(); ++i) {
      if (i > 0) absl::StrAppend(&text, ", ");
      DispatchDType(dtype_, [&](auto zero) {
        absl::StrAppend(&text, ElementText(data<decltype(zero)>()[i]));
      });
    }
  }
  return absl::StrCat(text, "}");
}

std::string Literal::ToShortString() const {
  if (num_elements() <= kMaxPrintedElements) return ToString();
  return absl::StrCat(shape().ToString(), "{@",
                      FingerprintOf(absl::string_view(data<char>(), num_bytes())).Hex(), "}");
}

bool operator==(const Literal& a, const Literal& b) {
  return a.dtype_ == b.dtype_ && a.sizes_ == b.sizes_ &&
         (a.raw() == b.raw() || a.num_bytes() == 0 ||
          std::memcmp(a.raw(), b.raw(), a.num_bytes()) == 0);
}

}  // namespace tektite::ir
