// Fourier transforms against their definition.
#include <limits>

#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::Dims;
using ir::DType;
using ir::Literal;
using ir::Op;
using ir::Value;
using ops::FuncBuilder;
using Ints = std::vector<int64_t>;

Tolerance RoundingOf(DType dtype) {
  return Tolerance::Relative(dtype == DType::kF32 ? 1e-6 : 2e-15);
}

// Products of small factors, a factor that has a pass of no fixed size, and primes without a pass.
const Ints kLengths = {1, 2, 3, 4, 5, 8, 9, 12, 22, 35, 64, 94, 120, 53, 106, 211};

// Lines in rows, in columns, and in the middle.
std::vector<std::pair<Ints, int64_t>> Places(int64_t n) {
  return {{{n}, 0}, {{19, n}, 1}, {{n, 19}, 0}, {{2, n, 3}, 1}};
}

CONFORMANCE_TEST(Fft) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    for (int64_t n : kLengths) {
      for (const auto& [sizes, dimension] : Places(n)) {
        for (bool inverse : {false, true}) {
          FuncBuilder b;
          Value re = b.Parameter(Of(dtype, sizes)), im = b.Parameter(Of(dtype, sizes));
          b.Return(b.AddMulti(Op::kFft, {re, im},
                              {{Attr::dimension, dimension}, {Attr::inverse, inverse}}));
          Check(b, RoundingOf(dtype));
        }
      }
    }
  }
}

CONFORMANCE_TEST(RealFft) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    for (int64_t n : kLengths) {
      for (const auto& [sizes, dimension] : Places(n)) {
        FuncBuilder b;
        Value x = b.Parameter(Of(dtype, sizes));
        b.Return(b.AddMulti(Op::kRealFft, {x}, {{Attr::dimension, dimension}}));
        Check(b, RoundingOf(dtype));
      }
    }
  }
}

CONFORMANCE_TEST(InverseRealFft) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    for (int64_t n : kLengths) {
      for (auto [sizes, dimension] : Places(n)) {
        sizes[dimension] = n / 2 + 1;
        FuncBuilder b;
        Value re = b.Parameter(Of(dtype, sizes)), im = b.Parameter(Of(dtype, sizes));
        b.Return({b.AddOne(Op::kInverseRealFft, {re, im},
                           {{Attr::dimension, dimension}, {Attr::shape, Dims{ir::Dim(n)}}})});
        Check(b, RoundingOf(dtype));
      }
    }
  }
}

// Few lines of many numbers, which are transformed as matrices.  In f64 it is the interpreter's sum
// of as many terms that rounds.
CONFORMANCE_TEST(SpectraOfLongLines) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    for (int64_t n : {256, 300, 391, 1125, 2048}) {
      for (int64_t lines : {1, 2, 3}) {
        for (int which : {0, 1, 2, 3}) {
          const Ints sizes = {lines, which == 3 ? n / 2 + 1 : n};
          FuncBuilder b;
          Value re = b.Parameter(Of(dtype, sizes)), im = b.Parameter(Of(dtype, sizes));
          ir::Attributes attrs = {{Attr::dimension, int64_t{1}}};
          if (which < 2) attrs.Set(Attr::inverse, which == 1);
          if (which == 3) attrs.Set(Attr::shape, Dims{ir::Dim(n)});
          const std::vector<Value> parts = {re, im}, real = {re};
          const Op op = which == 3 ? Op::kInverseRealFft : which == 2 ? Op::kRealFft : Op::kFft;
          b.Return(b.AddMulti(op, which == 2 ? real : parts, attrs));
          CompileOptions options;
          options.symbolic = false;
          Check(b, Tolerance::Relative(dtype == DType::kF32 ? 1e-6 : 2e-14), options);
        }
      }
    }
  }
}

// One part is read by nothing, and there is no memory for it.
CONFORMANCE_TEST(PartsOfASpectrum) {
  for (int part : {0, 1}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {11, 24}));
    b.Return({b.AddMulti(Op::kRealFft, {x}, {{Attr::dimension, int64_t{1}}})[part]});
    Check(b, RoundingOf(DType::kF32));
  }
}

// A line that holds NaN or an infinity leaves the others alone.
CONFORMANCE_TEST(SpectraOfLinesThatAreNoNumbers) {
  constexpr int64_t kLines = 9, kLength = 16;
  Literal x = Literal::Allocate(DType::kF32, {kLines, kLength});
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    x.mutable_data<float>()[i] = static_cast<float>(i * 7 % 11);
  }
  x.mutable_data<float>()[2 * kLength + 5] = std::numeric_limits<float>::quiet_NaN();
  FuncBuilder b;
  Value p = b.Parameter(Of(DType::kF32, {kLines, kLength}));
  b.Return(b.AddMulti(Op::kRealFft, {p}, {{Attr::dimension, int64_t{1}}}));
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto results = CompileAndRun(**graph, {x});
  if (IsRefusal(results.status())) return;
  ASSERT_TRUE(results.ok()) << results.status();
  constexpr int64_t kHalf = kLength / 2 + 1;
  for (int64_t i = 0; i < kLines * kHalf; ++i) {
    const bool spoilt = i / kHalf == 2;
    EXPECT_EQ(std::isnan((*results)[0].AsDouble(i)), spoilt) << i;
  }
}

}  // namespace
}  // namespace tektite::testing
