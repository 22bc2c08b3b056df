// The ops on single elements; private to jit/reference.
//
// Every float type is computed on as double ("wide") and rounded when it is stored; integers and
// bool are computed on as they are.
//
//   FindUnary<double>(ir::Op::kExp)(1.0)      // 2.718...
//
// Limits: an op that a type does not have, or that has no row here, is null.
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

template <typename T>
struct UnaryRow {
  ir::Op op;
  T (*apply)(T);
};
template <typename T>
struct BinaryRow {
  ir::Op op;
  T (*apply)(T, T);
};

template <typename Row, size_t n>
auto FindRow(const Row (&rows)[n], ir::Op op) -> decltype(Row::apply) {
  for (const Row& row : rows) {
    if (row.op == op) return row.apply;
  }
  return nullptr;
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
auto FindUnary(ir::Op op) -> T (*)(T) {
  using ir::Op;
  if constexpr (std::is_same_v<T, double>) {
    static constexpr UnaryRow<T> kRows[] = {
        {Op::kAbs, std::fabs},
        {Op::kAcos, std::acos},
        {Op::kAcosh, std::acosh},
        {Op::kAsin, std::asin},
        {Op::kAsinh, std::asinh},
        {Op::kAtan, std::atan},
        {Op::kAtanh, std::atanh},
        {Op::kCeil, std::ceil},
        {Op::kCos, std::cos},
        {Op::kCosh, std::cosh},
        {Op::kErf, std::erf},
        {Op::kErfc, std::erfc},
        {Op::kExp, std::exp},
        {Op::kExpm1, std::expm1},
        {Op::kFloor, std::floor},
        {Op::kLog, std::log},
        {Op::kLog1p, std::log1p},
        {Op::kLogistic, Logistic},
        {Op::kNeg, [](T x) { return -x; }},
        {Op::kRoundAway, std::round},
        {Op::kRoundEven, std::nearbyint},
        {Op::kRsqrt, [](T x) { return 1 / std::sqrt(x); }},
        {Op::kSign, Sign},
        {Op::kSin, std::sin},
        {Op::kSinh, std::sinh},
        {Op::kSqrt, std::sqrt},
        {Op::kTan, std::tan},
        {Op::kTanh, std::tanh},
    };
    return FindRow(kRows, op);
  } else if constexpr (std::is_same_v<T, bool>) {
    static constexpr UnaryRow<T> kRows[] = {{Op::kNot, [](T x) { return !x; }}};
    return FindRow(kRows, op);
  } else {
    static constexpr UnaryRow<T> kRows[] = {
        {Op::kAbs, [](T x) { return x < 0 ? static_cast<T>(-static_cast<Wrapping<T>>(x)) : x; }},
        {Op::kNeg, [](T x) { return static_cast<T>(-static_cast<Wrapping<T>>(x)); }},
        {Op::kNot, [](T x) { return static_cast<T>(~x); }},
        {Op::kPopcnt,
         [](T x) {
           return static_cast<T>(__builtin_popcountll(static_cast<std::make_unsigned_t<T>>(x)));
         }},
        {Op::kSign, [](T x) { return static_cast<T>(x > 0    ? 1
                                                    : x == 0 ? 0
                                                             : -1); }},
    };
    return FindRow(kRows, op);
  }
}

// A shift out of the element.
template <typename T>
bool IsFar(T bits) {
  return bits < 0 || static_cast<uint64_t>(bits) >= 8 * sizeof(T);
}

// A quotient that the type does not have.
template <typename T>
bool Overflows(T a, T b) {
  return std::is_signed_v<T> && a == std::numeric_limits<T>::lowest() && b == static_cast<T>(-1);
}

template <typename T>
T ShiftedRight(T a, T b) {
  const int kept = IsFar(b) ? static_cast<int>(8 * sizeof(T)) - 1 : static_cast<int>(b);
  return static_cast<T>(static_cast<std::make_signed_t<T>>(a) >> kept);
}

template <typename T>
auto FindBinary(ir::Op op) -> T (*)(T, T) {
  using ir::Op;
  if constexpr (std::is_same_v<T, double>) {
    static constexpr BinaryRow<T> kRows[] = {
        {Op::kAdd, [](T a, T b) { return a + b; }},
        {Op::kAtan2, std::atan2},
        {Op::kDiv, [](T a, T b) { return a / b; }},
        {Op::kMax,
         [](T a, T b) { return std::isnan(a) || std::isnan(b) ? a + b : (a < b ? b : a); }},
        {Op::kMin,
         [](T a, T b) { return std::isnan(a) || std::isnan(b) ? a + b : (b < a ? b : a); }},
        {Op::kMul, [](T a, T b) { return a * b; }},
        {Op::kPow, std::pow},
        {Op::kRem, std::fmod},
        {Op::kSub, [](T a, T b) { return a - b; }},
    };
    return FindRow(kRows, op);
  } else if constexpr (std::is_same_v<T, bool>) {
    static constexpr BinaryRow<T> kRows[] = {
        {Op::kAnd, [](T a, T b) { return a && b; }},
        {Op::kOr, [](T a, T b) { return a || b; }},
        {Op::kXor, [](T a, T b) { return a != b; }},
    };
    return FindRow(kRows, op);
  } else {
    using U = Wrapping<T>;
    static constexpr BinaryRow<T> kRows[] = {
        {Op::kAdd, [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); }},
        {Op::kAnd, [](T a, T b) { return static_cast<T>(a & b); }},
        {Op::kDiv,
         [](T a, T b) {
           return b == 0 ? static_cast<T>(-1) : Overflows(a, b) ? a : static_cast<T>(a / b);
         }},
        {Op::kMax, [](T a, T b) { return a < b ? b : a; }},
        {Op::kMin, [](T a, T b) { return b < a ? b : a; }},
        {Op::kMul, [](T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); }},
        {Op::kOr, [](T a, T b) { return static_cast<T>(a | b); }},
        {Op::kPow, PowerOfIntegers<T>},
        {Op::kRem,
         [](T a, T b) { return b == 0            ? a
                               : Overflows(a, b) ? T{0}
                                                 : static_cast<T>(a % b); }},
        {Op::kShiftLeft,
         [](T a, T b) { return IsFar(b) ? T{0} : static_cast<T>(static_cast<U>(a) << b); }},
        {Op::kShiftRightArithmetic, ShiftedRight<T>},
        {Op::kShiftRightLogical,
         [](T a, T b) {
           return IsFar(b) ? T{0} : static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) >> b);
         }},
        {Op::kSub, [](T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); }},
        {Op::kXor, [](T a, T b) { return static_cast<T>(a ^ b); }},
    };
    return FindRow(kRows, op);
  }
}

}  // namespace tektite::reference

#endif  // TEKTITE_JIT_REFERENCE_SCALAR_OPS_H_
