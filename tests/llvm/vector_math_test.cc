// The math functions on both instruction sets: dense samples within the ULP bounds, and special
// values. bench/vector_math runs all 2^32 floats.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "gtest/gtest.h"
#include "tests/llvm/kernel_runner.h"
#include "tests/llvm/math_functions.h"
#include "tests/llvm/ulp.h"

namespace tektite {
namespace {

using ir::DType;
using ir::Op;
using testing::Function;
using testing::UlpError;

class VectorMath : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, VectorMath, ::testing::Values("native", "avx2"),
                         [](const auto& info) { return std::string(info.param); });

template <typename T>
std::vector<T> Apply(const std::string& cpu, Op op, const std::vector<T>& x, int lanes) {
  auto f = testing::CompileElementwise(
      testing::CompilerFor(cpu), "f", {ir::DTypeOf<T>(), ir::DTypeOf<T>()}, lanes,
      [&](loop::Builder& b, const std::vector<loop::Value>& v) { return b.Unary(op, v[0]); });
  EXPECT_TRUE(f.ok()) << f.status();
  std::vector<T> y(x.size());
  void* buffers[] = {const_cast<T*>(x.data()), y.data()};
  if (f.ok()) f->fn(buffers, nullptr, nullptr, 0, static_cast<int64_t>(x.size()));
  return y;
}

template <typename T>
std::vector<T> Samples(const Function& function, int count) {
  const T inf = std::numeric_limits<T>::infinity(), denormal = std::numeric_limits<T>::denorm_min();
  const T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  std::vector<T> x = {0,        -T(0),     inf,     -inf,     std::numeric_limits<T>::quiet_NaN(),
                      denormal, -denormal, least,   -least,   least - denormal,
                      most,     -most,     1,       -1,       T(0.5),
                      T(-0.5),  2,         -2,      T(709.5), T(-745),
                      T(88.5),  T(-103.5), T(1e-5), T(-1e-5)};
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> dense(function.low, function.high);
  while (static_cast<int>(x.size()) < count) {
    T v;
    const uint64_t bits = random();
    std::memcpy(&v, &bits, sizeof(v));
    x.push_back(v);
    x.push_back(static_cast<T>(dense(random)));
  }
  return x;
}

TEST_P(VectorMath, F32WithinBounds) {
  for (const Function& function : testing::Functions()) {
    const std::vector<float> x = Samples<float>(function, 1 << 16);
    for (int lanes : {1, 4, 16, 32}) {
      const std::vector<float> y = Apply(GetParam(), function.op, x, lanes);
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = function.f64(x[i]);
        ASSERT_LE(UlpError(y[i], want), function.bound_f32)
            << function.name << "(" << x[i] << ") gives " << y[i] << ", should be " << want
            << " at " << lanes << " lanes";
      }
    }
  }
}

TEST_P(VectorMath, F64WithinBounds) {
  for (const Function& function : testing::Functions()) {
    const std::vector<double> x = Samples<double>(function, 1 << 14);
    for (int lanes : {1, 2, 8, 16}) {
      const std::vector<double> y = Apply(GetParam(), function.op, x, lanes);
      for (size_t i = 0; i < x.size(); ++i) {
        const long double want = function.f80(x[i]);
        ASSERT_LE(UlpError(y[i], want), function.bound_f64)
            << function.name << "(" << x[i] << ") gives " << y[i] << ", should be " << want
            << " at " << lanes << " lanes";
      }
    }
  }
}

template <typename T, typename Wide>
void CheckBinary(const std::string& cpu, Op op, Wide (*want)(Wide, Wide), double bound,
                 double spread) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T tiny = std::numeric_limits<T>::denorm_min(), most = std::numeric_limits<T>::max();
  const std::vector<T> special = {
      0,  -T(0), inf, -inf, nan,   1,    -1,    T(0.5), T(-0.5),       2,
      -2, 3,     -3,  tiny, -tiny, most, -most, T(2.5), T(1) + T(1e-6)};
  std::vector<T> x, y;
  for (T a : special) {
    for (T b : special) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> dense(-spread, spread);
  while (x.size() % 16 != 0 || x.size() < 40000) {
    T a, b;
    const uint64_t bits_a = random(), bits_b = random();
    std::memcpy(&a, &bits_a, sizeof(a));
    std::memcpy(&b, &bits_b, sizeof(b));
    if (x.size() % 2 == 0) {
      a = static_cast<T>(op == Op::kPow ? std::fabs(dense(random)) : dense(random));
      b = static_cast<T>(dense(random));
    }
    x.push_back(a);
    y.push_back(b);
  }
  for (int lanes : {1, 4, 16}) {
    auto f = testing::CompileElementwise(testing::CompilerFor(cpu), "f",
                                         std::vector<DType>(3, ir::DTypeOf<T>()), lanes,
                                         [&](loop::Builder& b, const std::vector<loop::Value>& v) {
                                           return b.Binary(op, v[0], v[1]);
                                         });
    ASSERT_TRUE(f.ok()) << f.status();
    std::vector<T> z(x.size());
    void* buffers[] = {x.data(), y.data(), z.data()};
    f->fn(buffers, nullptr, nullptr, 0, static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_LE(UlpError(z[i], want(x[i], y[i])), bound)
          << ir::OpName(op) << "(" << x[i] << ", " << y[i] << ") gives " << z[i] << ", should be "
          << want(x[i], y[i]) << " at " << lanes << " lanes";
    }
  }
}

TEST_P(VectorMath, Pow) {
  CheckBinary<float, double>(GetParam(), Op::kPow, std::pow, 1, 20);
  CheckBinary<double, long double>(GetParam(), Op::kPow, std::pow, 2, 100);
}

TEST_P(VectorMath, Atan2) {
  CheckBinary<float, double>(GetParam(), Op::kAtan2, std::atan2, 4, 10);
  CheckBinary<double, long double>(GetParam(), Op::kAtan2, std::atan2, 4, 10);
}

TEST_P(VectorMath, RemainderIsExact) {
  CheckBinary<float, double>(GetParam(), Op::kRem, std::fmod, 0, 100);
  CheckBinary<double, long double>(GetParam(), Op::kRem, std::fmod, 0, 100);
}

TEST_P(VectorMath, ErfcIsExactAtItsEnds) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0, -0.0f, 10.1f, 10.5f, 1e30f, inf, -4, -10.5f, -1e30f, -inf};
  std::vector<float> want = {1, 1, 0, 0, 0, 0, 2, 2, 2, 2};
  x.resize(16, 0);
  want.resize(16, 1);
  for (int lanes : {1, 16}) EXPECT_EQ(Apply(GetParam(), Op::kErfc, x, lanes), want) << lanes;
}

TEST_P(VectorMath, LargeAnglesAreReduced) {
  std::vector<double> x;
  for (int e = 20; e < 1023; ++e) {
    x.push_back(std::ldexp(1.2345678901234567, e));
    x.push_back(-std::ldexp(1.9999999999999998, e));
  }
  x.push_back(6381956970095103.0 * 0x1p797);  // the double nearest to a multiple of pi/2
  while (x.size() % 8 != 0) x.push_back(0);
  const std::vector<double> y = Apply(GetParam(), Op::kCos, x, 8);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(UlpError(y[i], std::cos(static_cast<long double>(x[i]))), 1) << x[i];
  }
}

}  // namespace
}  // namespace tektite
