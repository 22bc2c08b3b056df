// Each op on each dtype and number of lanes, compiled and compared with the same op in C++.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

#include "gtest/gtest.h"
#include "tests/llvm/kernel_runner.h"

namespace tektite {
namespace {

using ir::DType;
using ir::Op;

class Lowering : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, Lowering, ::testing::Values("native", "avx2"),
                         [](const auto& info) { return std::string(info.param); });

constexpr int kLanes[] = {1, 4, 16, 32};
constexpr int kCount = 4096;

template <typename T>
bool SameBits(T a, T b) {
  if (a != a && b != b) return true;
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// Edge values often, random bits otherwise.
template <typename T>
std::vector<T> Values(int seed) {
  using L = std::numeric_limits<T>;
  std::vector<T> edges = {T(0), T(1), T(2), T(3), T(7), L::max(), L::lowest(), T(L::max() / 2)};
  if constexpr (std::is_signed_v<T> || std::is_floating_point_v<T>) edges.push_back(T(-1));
  if constexpr (std::is_floating_point_v<T>) {
    for (double v :
         {-0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 0.49999999999999994, 8388607.5, 1e10, -1e10,
          3e38, 127.9, -128.9, 255.5, 65535.5, 2147483647.0, 2147483648.0}) {
      edges.push_back(static_cast<T>(v));
    }
    edges.insert(edges.end(),
                 {L::infinity(), -L::infinity(), L::quiet_NaN(), L::denorm_min(), L::min()});
  }
  std::mt19937_64 random(seed);
  std::vector<T> values;
  for (int i = 0; i < kCount; ++i) {
    const uint64_t bits = random();
    T v;
    std::memcpy(&v, &bits, sizeof(T));
    if constexpr (std::is_same_v<T, bool>) v = bits & 1;
    values.push_back(random() % 2 == 0 ? edges[random() % edges.size()] : v);
  }
  return values;
}
// std::vector<bool> has no data().
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <typename R, typename T>
void Check(const std::string& cpu, const std::string& what, int operands,
           const std::function<loop::Value(loop::Builder&, const std::vector<loop::Value>&)>& body,
           const std::function<R(T, T)>& want) {
  const std::vector<T> va = Values<T>(1), vb = Values<T>(2);
  const std::vector<Stored<T>> a(va.begin(), va.end()), b(vb.begin(), vb.end());
  for (int lanes : kLanes) {
    std::vector<DType> dtypes(operands, ir::DTypeOf<T>());
    dtypes.push_back(ir::DTypeOf<R>());
    auto f = testing::CompileElementwise(testing::CompilerFor(cpu), "f", dtypes, lanes, body);
    ASSERT_TRUE(f.ok()) << what << ": " << f.status();
    std::vector<Stored<R>> r(kCount);
    void* buffers[] = {
        const_cast<Stored<T>*>(a.data()),
        operands == 2 ? static_cast<void*>(const_cast<Stored<T>*>(b.data())) : r.data(), r.data()};
    f->fn(buffers, nullptr, nullptr, 0, kCount);
    for (int i = 0; i < kCount; ++i) {
      const R expected = want(va[i], vb[i]);
      ASSERT_TRUE(SameBits(static_cast<R>(r[i]), expected))
          << what << " " << ir::DTypeName(ir::DTypeOf<T>()) << "x" << lanes << " of " << +va[i]
          << ", " << +vb[i] << " gives " << +r[i] << ", should be " << +expected;
    }
  }
}

template <typename T>
void CheckBinary(const std::string& cpu, Op op, const std::function<T(T, T)>& want) {
  Check<T, T>(
      cpu, std::string(ir::OpName(op)), 2,
      [op](loop::Builder& b, const std::vector<loop::Value>& v) {
        return b.Binary(op, v[0], v[1]);
      },
      want);
}

template <typename T, typename R = T>
void CheckUnary(const std::string& cpu, Op op,
                const std::enable_if_t<true, std::function<R(T)>>& want) {
  Check<R, T>(
      cpu, std::string(ir::OpName(op)), 1,
      [op](loop::Builder& b, const std::vector<loop::Value>& v) { return b.Unary(op, v[0]); },
      [want](T a, T) { return want(a); });
}

template <typename T>
void CheckCompares(const std::string& cpu) {
  const std::vector<std::pair<const char*, std::function<bool(T, T)>>> directions = {
      {"eq", [](T a, T b) { return a == b; }}, {"ne", [](T a, T b) { return a != b; }},
      {"lt", [](T a, T b) { return a < b; }},  {"le", [](T a, T b) { return a <= b; }},
      {"gt", [](T a, T b) { return a > b; }},  {"ge", [](T a, T b) { return a >= b; }}};
  for (const auto& [name, want] : directions) {
    const std::string direction = name;
    Check<bool, T>(
        cpu, name, 2,
        [direction](loop::Builder& b, const std::vector<loop::Value>& v) {
          return b.Compare(direction, v[0], v[1]);
        },
        want);
  }
}

template <typename T>
void CheckIntegers(const std::string& cpu) {
  using U = std::make_unsigned_t<T>;
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  constexpr unsigned kBits = 8 * sizeof(T);
  CheckBinary<T>(cpu, Op::kAdd, [](T a, T b) { return static_cast<T>(Wide(a) + Wide(b)); });
  CheckBinary<T>(cpu, Op::kSub, [](T a, T b) { return static_cast<T>(Wide(a) - Wide(b)); });
  CheckBinary<T>(cpu, Op::kMul, [](T a, T b) {
    return static_cast<T>(U(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)));
  });
  CheckBinary<T>(cpu, Op::kDiv, [](T a, T b) {
    return b == 0 ? static_cast<T>(-1) : static_cast<T>(Wide(a) / Wide(b));
  });
  CheckBinary<T>(cpu, Op::kRem,
                 [](T a, T b) { return b == 0 ? a : static_cast<T>(Wide(a) % Wide(b)); });
  CheckBinary<T>(cpu, Op::kMax, [](T a, T b) { return std::max(a, b); });
  CheckBinary<T>(cpu, Op::kMin, [](T a, T b) { return std::min(a, b); });
  CheckBinary<T>(cpu, Op::kAnd, [](T a, T b) { return static_cast<T>(a & b); });
  CheckBinary<T>(cpu, Op::kOr, [](T a, T b) { return static_cast<T>(a | b); });
  CheckBinary<T>(cpu, Op::kXor, [](T a, T b) { return static_cast<T>(a ^ b); });
  CheckBinary<T>(cpu, Op::kShiftLeft,
                 [](T a, T b) { return U(b) >= kBits ? T(0) : static_cast<T>(U(a) << U(b)); });
  CheckBinary<T>(cpu, Op::kShiftRightLogical,
                 [](T a, T b) { return U(b) >= kBits ? T(0) : static_cast<T>(U(a) >> U(b)); });
  CheckBinary<T>(cpu, Op::kShiftRightArithmetic, [](T a, T b) {
    using S = std::make_signed_t<T>;
    return static_cast<T>(static_cast<S>(a) >> std::min<uint64_t>(U(b), kBits - 1));
  });
  CheckUnary<T>(cpu, Op::kNeg, [](T a) { return static_cast<T>(U(0) - U(a)); });
  CheckUnary<T>(cpu, Op::kAbs, [](T a) { return a < T(0) ? static_cast<T>(U(0) - U(a)) : a; });
  CheckUnary<T>(cpu, Op::kNot, [](T a) { return static_cast<T>(~a); });
  CheckUnary<T>(cpu, Op::kSign, [](T a) { return static_cast<T>(a > T(0) ? 1 : a == 0 ? 0 : -1); });
  CheckUnary<T>(cpu, Op::kPopcnt, [](T a) { return static_cast<T>(__builtin_popcountll(U(a))); });
  CheckCompares<T>(cpu);
}

TEST_P(Lowering, Signed) {
  CheckIntegers<int8_t>(GetParam());
  CheckIntegers<int16_t>(GetParam());
  CheckIntegers<int32_t>(GetParam());
  CheckIntegers<int64_t>(GetParam());
}

TEST_P(Lowering, Unsigned) {
  CheckIntegers<uint8_t>(GetParam());
  CheckIntegers<uint16_t>(GetParam());
  CheckIntegers<uint32_t>(GetParam());
  CheckIntegers<uint64_t>(GetParam());
}

template <typename T>
void CheckFloats(const std::string& cpu) {
  CheckBinary<T>(cpu, Op::kAdd, [](T a, T b) { return a + b; });
  CheckBinary<T>(cpu, Op::kSub, [](T a, T b) { return a - b; });
  CheckBinary<T>(cpu, Op::kMul, [](T a, T b) { return a * b; });
  CheckBinary<T>(cpu, Op::kDiv, [](T a, T b) { return a / b; });
  CheckUnary<T>(cpu, Op::kNeg, [](T a) { return -a; });
  CheckUnary<T>(cpu, Op::kAbs, [](T a) { return std::fabs(a); });
  CheckUnary<T>(cpu, Op::kSqrt, [](T a) { return std::sqrt(a); });
  CheckUnary<T>(cpu, Op::kFloor, [](T a) { return std::floor(a); });
  CheckUnary<T>(cpu, Op::kCeil, [](T a) { return std::ceil(a); });
  CheckUnary<T>(cpu, Op::kRoundEven, [](T a) { return std::nearbyint(a); });
  CheckUnary<T>(cpu, Op::kRoundAway, [](T a) { return std::round(a); });
  CheckUnary<T>(cpu, Op::kSign, [](T a) { return a > 0 ? T(1) : a < 0 ? T(-1) : a; });
  CheckUnary<T, bool>(cpu, Op::kIsFinite, [](T a) { return std::isfinite(a); });
  CheckCompares<T>(cpu);
  // The sign of a zero is free: compare values, and NaN with NaN.
  auto extreme = [](bool max) {
    return [max](T a, T b) {
      return a != a || b != b ? std::numeric_limits<T>::quiet_NaN()
             : max            ? (a > b ? a : b) + T(0)
                              : (a < b ? a : b) + T(0);
    };
  };
  for (bool max : {true, false}) {
    Check<T, T>(
        cpu, max ? "max" : "min", 2,
        [max](loop::Builder& b, const std::vector<loop::Value>& v) {
          loop::Value m = max ? b.Max(v[0], v[1]) : b.Min(v[0], v[1]);
          return b.Add(m, b.Splat(b.Float(ir::DTypeOf<T>(), 0), m.lanes()));
        },
        extreme(max));
    // A constant operand takes the short sequence.
    Check<T, T>(
        cpu, "max with a constant", 1,
        [max](loop::Builder& b, const std::vector<loop::Value>& v) {
          loop::Value c = b.Splat(b.Float(ir::DTypeOf<T>(), 0.5), v[0].lanes());
          loop::Value m = max ? b.Max(v[0], c) : b.Min(c, v[0]);
          return b.Add(m, b.Splat(b.Float(ir::DTypeOf<T>(), 0), m.lanes()));
        },
        [extreme, max](T a, T) { return extreme(max)(a, T(0.5)); });
  }
  Check<T, T>(
      cpu, "fma", 2,
      [](loop::Builder& b, const std::vector<loop::Value>& v) { return b.Fma(v[0], v[1], v[0]); },
      [](T a, T b) { return std::fma(a, b, a); });
}

TEST_P(Lowering, Floats) {
  CheckFloats<float>(GetParam());
  CheckFloats<double>(GetParam());
}

template <typename To, typename From>
To Converted(From v) {
  if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // x86's conversions; see jit/reference/interpreter.h.
    using L = std::numeric_limits<To>;
    const auto as = [v](auto least) -> decltype(least) {
      const long double limit = -static_cast<long double>(least);
      return v >= -limit && v < limit ? static_cast<decltype(least)>(v) : least;
    };
    if constexpr (sizeof(To) < 4) {
      const int32_t number = as(std::numeric_limits<int32_t>::min());
      return static_cast<To>(std::clamp<int32_t>(number, L::min(), L::max()));
    } else if constexpr (std::is_signed_v<To>) {
      return as(L::min());
    } else {
      const bool is_high = v >= 0x1p63L && v < 0x1p64L;
      return static_cast<To>(is_high
                                 ? static_cast<uint64_t>(v)
                                 : static_cast<uint64_t>(as(std::numeric_limits<int64_t>::min())));
    }
  } else {
    return static_cast<To>(v);
  }
}

template <typename From, typename To>
void CheckConvert(const std::string& cpu) {
  Check<To, From>(
      cpu, "convert to " + std::string(ir::DTypeName(ir::DTypeOf<To>())), 1,
      [](loop::Builder& b, const std::vector<loop::Value>& v) {
        return b.Convert(v[0], ir::DTypeOf<To>());
      },
      [](From a, From) { return Converted<To>(a); });
}

template <typename From>
void CheckConverts(const std::string& cpu) {
  CheckConvert<From, bool>(cpu);
  CheckConvert<From, int8_t>(cpu);
  CheckConvert<From, int16_t>(cpu);
  CheckConvert<From, int32_t>(cpu);
  CheckConvert<From, int64_t>(cpu);
  CheckConvert<From, uint8_t>(cpu);
  CheckConvert<From, uint16_t>(cpu);
  CheckConvert<From, uint32_t>(cpu);
  CheckConvert<From, uint64_t>(cpu);
  CheckConvert<From, float>(cpu);
  CheckConvert<From, double>(cpu);
}

TEST_P(Lowering, Converts) {
  CheckConverts<bool>(GetParam());
  CheckConverts<int8_t>(GetParam());
  CheckConverts<int32_t>(GetParam());
  CheckConverts<int64_t>(GetParam());
  CheckConverts<uint16_t>(GetParam());
  CheckConverts<uint32_t>(GetParam());
  CheckConverts<uint64_t>(GetParam());
  CheckConverts<float>(GetParam());
  CheckConverts<double>(GetParam());
}

// f16 and bf16: every bit pattern to f32 and back, and rounding of floats.
template <typename Half>
void CheckHalves(const std::string& cpu) {
  const DType half = ir::DTypeOf<Half>();
  for (int lanes : kLanes) {
    auto up =
        testing::CompileElementwise(testing::CompilerFor(cpu), "up", {half, DType::kF32}, lanes,
                                    [](loop::Builder& b, const std::vector<loop::Value>& v) {
                                      return b.Convert(v[0], DType::kF32);
                                    });
    auto down = testing::CompileElementwise(
        testing::CompilerFor(cpu), "down", {DType::kF32, half}, lanes,
        [&](loop::Builder& b, const std::vector<loop::Value>& v) { return b.Convert(v[0], half); });
    ASSERT_TRUE(up.ok() && down.ok()) << up.status() << down.status();
    std::vector<Half> all(65536), back(65536);
    std::vector<float> floats(65536);
    for (int i = 0; i < 65536; ++i) all[i].bits = static_cast<uint16_t>(i);
    void* to_float[] = {all.data(), floats.data()};
    up->fn(to_float, nullptr, nullptr, 0, 65536);
    for (int i = 0; i < 65536; ++i) {
      const float want = static_cast<float>(all[i]);
      ASSERT_TRUE(SameBits(floats[i], want)) << i;
    }
    const std::vector<float> edges = Values<float>(3);
    std::copy(edges.begin(), edges.end(), floats.begin());
    for (size_t i = edges.size(); i < floats.size(); ++i) floats[i] *= 1.0003f;
    void* to_half[] = {floats.data(), back.data()};
    down->fn(to_half, nullptr, nullptr, 0, 65536);
    for (int i = 0; i < 65536; ++i) {
      const Half want(floats[i]);
      if (floats[i] != floats[i]) {
        ASSERT_TRUE(std::isnan(static_cast<float>(back[i])));
      } else {
        ASSERT_EQ(back[i].bits, want.bits) << floats[i];
      }
    }
  }
}

TEST_P(Lowering, HalfFloats) {
  CheckHalves<ir::Half>(GetParam());
  CheckHalves<ir::BFloat16>(GetParam());
}

TEST_P(Lowering, Bitcasts) {
  Check<int32_t, float>(
      GetParam(), "bitcast", 1,
      [](loop::Builder& b, const std::vector<loop::Value>& v) {
        return b.Bitcast(v[0], DType::kS32);
      },
      [](float a, float) {
        int32_t bits;
        std::memcpy(&bits, &a, sizeof(bits));
        return bits;
      });
}

}  // namespace
}  // namespace tektite
