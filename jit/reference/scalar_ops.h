// The ops on single elements; private to jit/reference.
//
// Every float type is computed on as double ("wide") and rounded when it is stored; integers and
// bool are computed on as they are.
//
//   ApplyUnary<double>(ir::Op::kExp, 1.0)      // 2.718...
#ifndef TEKTITE_JIT_REFERENCE_SCALAR_OPS_H_
#define TEKTITE_JIT_REFERENCE_SCALAR_OPS_H_

#include <cmath>
#include <limits>
#include <type_traits>

#include "jit/ir/dtype.h"
#include "jit/ir/op.h"

namespace tektite::reference {

template <typename T>
inline constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, ir::Half> || std::is_same_v<T, ir::BFloat16>;
template <typename T>
using Wide = std::conditional_t<kIsFloat<T>, double, T>;

template <typename T>
Wide<T> Widen(T value) {
  if constexpr (std::is_same_v<T, ir::Half> || std::is_same_v<T, ir::BFloat16>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

template <typename T>
T Narrow(Wide<T> value) {
  if constexpr (std::is_same_v<T, ir::Half> || std::is_same_v<T, ir::BFloat16>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// Arithmetic that wraps around: unsigned, and wide enough not to be promoted to int.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;

template <typename T>
T PowerOfIntegers(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == -1) return exponent % 2 == 0 ? 1 : -1;
      return 0;
    }
  }
  Wrapping<T> result = 1, factor = static_cast<Wrapping<T>>(base);
  for (auto e = static_cast<std::make_unsigned_t<T>>(exponent); e != 0; e >>= 1) {
    if (e & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

inline double Sign(double x) {
  if (x > 0) return 1;
  if (x < 0) return -1;
  return x;  // a zero keeps its sign, NaN stays
}

// exp of a negative number only: no overflow on the way to a tiny result.
inline double Logistic(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

template <typename T>
T ApplyUnary(ir::Op op, T x) {
  using ir::Op;
  if constexpr (std::is_same_v<T, double>) {
    switch (op) {
      case Op::kAbs:
        return std::fabs(x);
      case Op::kAcos:
        return std::acos(x);
      case Op::kAcosh:
        return std::acosh(x);
      case Op::kAsin:
        return std::asin(x);
      case Op::kAsinh:
        return std::asinh(x);
      case Op::kAtan:
        return std::atan(x);
      case Op::kAtanh:
        return std::atanh(x);
      case Op::kCeil:
        return std::ceil(x);
      case Op::kCos:
        return std::cos(x);
      case Op::kCosh:
        return std::cosh(x);
      case Op::kErf:
        return std::erf(x);
      case Op::kErfc:
        return std::erfc(x);
      case Op::kExp:
        return std::exp(x);
      case Op::kExpm1:
        return std::expm1(x);
      case Op::kFloor:
        return std::floor(x);
      case Op::kLog:
        return std::log(x);
      case Op::kLog1p:
        return std::log1p(x);
      case Op::kLogistic:
        return Logistic(x);
      case Op::kNeg:
        return -x;
      case Op::kRoundAway:
        return std::round(x);
      case Op::kRoundEven:
        return std::nearbyint(x);
      case Op::kRsqrt:
        return 1 / std::sqrt(x);
      case Op::kSign:
        return Sign(x);
      case Op::kSin:
        return std::sin(x);
      case Op::kSinh:
        return std::sinh(x);
      case Op::kSqrt:
        return std::sqrt(x);
      case Op::kTan:
        return std::tan(x);
      default:
        return std::tanh(x);
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    return !x;  // not is the one op of bool
  } else {
    using U = std::make_unsigned_t<T>;
    switch (op) {
      case Op::kAbs:
        return x < 0 ? static_cast<T>(-static_cast<Wrapping<T>>(x)) : x;
      case Op::kNeg:
        return static_cast<T>(-static_cast<Wrapping<T>>(x));
      case Op::kSign:
        return x > 0 ? 1 : x == 0 ? 0 : static_cast<T>(-1);
      case Op::kNot:
        return static_cast<T>(~x);
      default:  // popcnt
        return static_cast<T>(__builtin_popcountll(static_cast<U>(x)));
    }
  }
}

template <typename T>
T ApplyBinary(ir::Op op, T a, T b) {
  using ir::Op;
  if constexpr (std::is_same_v<T, double>) {
    switch (op) {
      case Op::kAdd:
        return a + b;
      case Op::kAtan2:
        return std::atan2(a, b);
      case Op::kDiv:
        return a / b;
      case Op::kMax:
        return std::isnan(a) || std::isnan(b) ? a + b : (a < b ? b : a);
      case Op::kMin:
        return std::isnan(a) || std::isnan(b) ? a + b : (b < a ? b : a);
      case Op::kMul:
        return a * b;
      case Op::kPow:
        return std::pow(a, b);
      case Op::kRem:
        return std::fmod(a, b);
      default:
        return a - b;
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    return op == Op::kAnd ? a && b : op == Op::kOr ? a || b : a != b;
  } else {
    using U = Wrapping<T>;
    const U x = static_cast<U>(a), y = static_cast<U>(b);
    constexpr int kBits = 8 * sizeof(T);
    const bool far = b < 0 || static_cast<uint64_t>(b) >= kBits;  // a shift out of the element
    constexpr T kLowest = std::numeric_limits<T>::lowest();
    const bool overflows = std::is_signed_v<T> && a == kLowest && b == static_cast<T>(-1);
    switch (op) {
      case Op::kAdd:
        return static_cast<T>(x + y);
      case Op::kAnd:
        return static_cast<T>(a & b);
      case Op::kDiv:
        return b == 0 ? static_cast<T>(-1) : overflows ? a : static_cast<T>(a / b);
      case Op::kMax:
        return a < b ? b : a;
      case Op::kMin:
        return b < a ? b : a;
      case Op::kMul:
        return static_cast<T>(x * y);
      case Op::kOr:
        return static_cast<T>(a | b);
      case Op::kPow:
        return PowerOfIntegers(a, b);
      case Op::kRem:
        return b == 0 ? a : overflows ? T{0} : static_cast<T>(a % b);
      case Op::kShiftLeft:
        return far ? T{0} : static_cast<T>(x << b);
      case Op::kShiftRightArithmetic: {
        using S = std::make_signed_t<T>;
        return static_cast<T>(static_cast<S>(a) >> (far ? kBits - 1 : static_cast<int>(b)));
      }
      case Op::kShiftRightLogical:
        return far ? T{0} : static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) >> b);
      case Op::kXor:
        return static_cast<T>(a ^ b);
      default:
        return static_cast<T>(x - y);
    }
  }
}

}  // namespace tektite::reference

#endif  // TEKTITE_JIT_REFERENCE_SCALAR_OPS_H_
