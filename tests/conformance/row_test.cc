// Row kernels: softmax, layer normalization and what surrounds them.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Op;
using ir::Value;
using ops::FuncBuilder;

Value Softmax(FuncBuilder& b, Value x, bool log) {
  const int last = x.shape().rank() - 1;
  Value shifted = b.Sub(x, b.ReduceKeep(x, {last}, "max"));
  Value e = b.Exp(shifted), sum = b.ReduceKeep(e, {last}, "add");
  return log ? b.Sub(shifted, b.Log(sum)) : b.Div(e, sum);
}

Value LayerNorm(FuncBuilder& b, Value x, Value scale, Value offset) {
  const int last = x.shape().rank() - 1;
  const double n = static_cast<double>(x.shape().dim(last).value());
  Value mean = b.ReduceKeep(x, {last}, "add");
  mean = b.Div(mean, b.FullLike(mean, n));
  Value d = b.Sub(x, mean);
  Value variance = b.ReduceKeep(b.Mul(d, d), {last}, "add");
  variance = b.Div(variance, b.FullLike(variance, n));
  Value r = b.Rsqrt(b.Add(variance, b.FullLike(variance, 1e-3)));
  return b.Add(b.Mul(b.Mul(d, r), scale), offset);
}

const std::vector<std::vector<int64_t>> kShapes = {
    {1, 1},   {3, 2},   {7, 15},    {16, 16},  {17, 17}, {5, 64},      {64, 64},
    {2, 100}, {4, 999}, {2, 3, 33}, {8, 8, 8}, {33, 1},  {1, 2, 4, 50}};

CONFORMANCE_TEST(SoftmaxOfEveryShape) {
  for (const auto& dims : kShapes) {
    for (DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, dims));
      b.Return({Softmax(b, x, dims.size() % 2 == 1)});
      Check(b, Tolerance::Relative(dtype == DType::kBF16 ? 0.02 : 1e-6));
    }
  }
}

CONFORMANCE_TEST(SoftmaxAndItsLogarithmTogether) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {6, 37}));
  b.Return({Softmax(b, x, false), Softmax(b, x, true)});
  Check(b, Tolerance::Relative(1e-6));
}

CONFORMANCE_TEST(LayerNormOfEveryShape) {
  for (const auto& dims : kShapes) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, dims)), y = b.Parameter(Of(DType::kF32, dims));
    Value scale = b.Parameter(Of(DType::kF32, {dims.back()}));
    Value offset = b.Parameter(Of(DType::kF32, {dims.back()}));
    // The residual's sum leaves the kernel, too.
    Value sum = b.Add(x, y);
    b.Return({LayerNorm(b, sum, scale, offset), sum});
    Check(b, Tolerance::Relative(5e-6));
  }
}

// Rows that lie in the registers of a card's threads, up to the longest, beside little arithmetic
// and much: none of it may be spilled.
CONFORMANCE_TEST(RowsInRegisters) {
  for (int64_t n : {768, 1000, 1024, 8192, 16384}) {
    for (int kind = 0; kind < 5; ++kind) {
      const DType dtype = kind == 0 ? DType::kBF16 : DType::kF32;
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, {3, n})), scale = b.Parameter(Of(DType::kF32, {n}));
      Value wide = b.Convert(x, DType::kF32);
      Value rows[] = {Softmax(b, wide, false), Softmax(b, wide, true),
                      LayerNorm(b, wide, scale, scale),
                      LayerNorm(b, b.Mul(wide, b.Tanh(b.Erf(wide))), scale, scale),
                      Softmax(b, b.Exp(b.Tanh(wide)), false)};
      b.Return({b.Convert(rows[kind], dtype)});
      Check(b, Tolerance::Relative(dtype == DType::kBF16 ? 0.02 : 1e-5));
    }
  }
}

CONFORMANCE_TEST(MaskedAttentionScores) {
  for (int64_t t : {5, 16, 24}) {
    FuncBuilder b;
    Value scores = b.Parameter(Of(DType::kF32, {2, 3, t, t}));
    Value mask = b.Parameter(Of(DType::kS32, {2, t}));
    Value keep = b.Convert(mask, DType::kF32);
    keep = b.Sub(b.FullLike(keep, 1), keep);
    keep = b.Reshape(b.Mul(keep, b.FullLike(keep, -0.5)), {Dim(2), Dim(1), Dim(1), Dim(t)});
    Value rows = b.Iota(DType::kS32, {Dim(t), Dim(t)}, 0);
    Value columns = b.Iota(DType::kS32, {Dim(t), Dim(t)}, 1);
    Value causal = b.BroadcastTo(b.Compare(columns, rows, "le"), scores.shape().dims());
    Value masked = b.Add(b.Mul(scores, b.FullLike(scores, 0.25)), keep);
    b.Return({Softmax(b, masked, false),
              Softmax(b, b.Select(causal, masked, b.FullLike(masked, -1e9)), false)});
    Check(b, Tolerance::Relative(1e-6));
  }
}

// The same sizes for rows and columns must not confuse one for the other.
CONFORMANCE_TEST(SquareRowsAndColumns) {
  for (int64_t n : {4, 16, 33}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {n, n}));
    Value by_row = b.Parameter(Of(DType::kF32, {n, 1}));
    Value by_column = b.Parameter(Of(DType::kF32, {n}));
    Value scaled = b.Mul(b.Add(x, by_row), by_column);
    Value sum = b.Reduce(scaled, {1}, "add");
    b.Return({b.Mul(sum, by_column), b.Sub(scaled, b.BroadcastInDim(sum, {Dim(n), Dim(n)}, {0})),
              b.Add(x, b.BroadcastInDim(sum, {Dim(n), Dim(n)}, {1}))});
    Check(b, Tolerance::Relative(1e-6));
  }
}

CONFORMANCE_TEST(RowValuesAreUsedOutside) {
  for (int64_t n : {1, 8, 21}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {5, n}));
    Value max = b.Reduce(x, {1}, "max"), sum = b.Reduce(x, {1}, "add");
    Value range = b.Sub(max, b.Reduce(x, {1}, "min"));
    b.Return({max, b.Div(sum, b.Add(range, b.FullLike(range, 1))), b.Neg(range)});
    Check(b, Tolerance::Relative(1e-6));
  }
}

// The row's largest and smallest element are found without passing NaN on from element to element;
// one anywhere (in each of the accumulators, in the masked tail) must still be the result.
CONFORMANCE_TEST(ExtremesOfRowsWithNan) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (int64_t n : {1, 15, 16, 17, 63, 64, 128, 131, 200, 515}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {n + 2, n}));
    Value max = b.Reduce(x, {1}, "max"), min = b.Reduce(x, {1}, "min");
    b.Return({max, min, b.Sub(x, b.BroadcastInDim(max, x.shape().dims(), {0}))});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    std::vector<float> values(static_cast<size_t>((n + 2) * n));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i * 7919 % 1013) - 500;
    for (int64_t i = 0; i < n; ++i) {
      values[i * n + (i + 1) % n] = i % 2 == 0 ? kInf : -kInf;
      values[i * n + i] = std::nanf("");
      values[n * n + i] = -kInf;  // a row of nothing else
    }
    Check(**graph, {ir::Literal::FromVector<float>({n + 2, n}, values)}, Tolerance::Exact());
  }
}

// exp of what is far out of range, beside what is not.
CONFORMANCE_TEST(SoftmaxOfExtremes) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> extremes = {-kInf, -3e38f, -1e9f,   -1e5f, -200,
                                       -104,  -88,    -1e-40f, 0,     3e38f};
  for (int64_t n : {1, 10, 16, 37, 150}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {24, n}));
    b.Return({Softmax(b, x, false), Softmax(b, x, true), b.Exp(x)});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    std::vector<float> values(static_cast<size_t>(24 * n));
    for (int64_t i = 0; i < 24 * n; ++i) {
      const int64_t row = i / n;
      values[i] = static_cast<float>(i % 13) / 8;
      // Rows without the largest, with all, of -inf alone, with inf, with NaN.
      if (row < 20)
        values[i] = extremes[(i + row) % (row < 10 ? extremes.size() - 1 : extremes.size())];
      if (row == 20) values[i] = -kInf;
      if (row == 21 && i % n == n / 2) values[i] = kInf;
      if (row == 22 && i % n == n - 1) values[i] = std::nanf("");
    }
    Check(**graph, {ir::Literal::FromVector<float>({24, n}, values)}, Tolerance::Ulps(4));
  }
}

// A value that a later stage needs again lies where a result will: its own, another's, or in
// scratch when there are too few.
CONFORMANCE_TEST(ValuesKeptInResults) {
  for (int64_t n : {1, 37, 150}) {
    for (int results = 1; results <= 4; ++results) {
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {5, n}));
      Value shifted = b.Sub(x, b.ReduceKeep(x, {1}, "max"));
      Value e = b.Exp(shifted), t = b.Tanh(shifted);
      Value sum = b.ReduceKeep(e, {1}, "add"), other = b.ReduceKeep(b.Mul(e, t), {1}, "add");
      Value late = b.ReduceKeep(b.Div(t, sum), {1}, "add");
      std::vector<Value> all = {b.Div(e, b.Add(sum, late)), b.Sub(t, other), e,
                                b.Convert(b.Mul(t, late), DType::kF64)};
      all.resize(results);
      b.Return(all);
      Check(b, Tolerance::Relative(2e-6));
    }
  }
}

// Stages run side by side on neighbouring rows: with reductions before, in and after the costliest
// one, several chunks, and a row that is not finite among finite ones.
CONFORMANCE_TEST(StagesOfNeighbouringRows) {
  for (const auto& [rows, n] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 70}, {2, 70}, {3, 16}, {301, 64}, {97, 150}, {700, 5}}) {
    for (int kind = 0; kind < 5; ++kind) {
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {rows, n}));
      Value t = b.Tanh(x), sum = b.ReduceKeep(t, {1}, "add"), max = b.ReduceKeep(x, {1}, "max");
      Value e = b.Exp(b.Sub(x, max)), exp_sum = b.ReduceKeep(e, {1}, "add");
      if (kind == 0) b.Return({b.Mul(t, sum)});
      if (kind == 1) b.Return({b.Reduce(e, {1}, "add")});
      if (kind == 2) b.Return({b.Sub(x, max), b.Reduce(x, {1}, "max")});
      if (kind == 3) b.Return({b.Div(e, exp_sum), b.Reduce(e, {1}, "add"), e});
      // The first stage's value lies elsewhere than the result of the third.
      if (kind == 4) b.Return({b.Sub(t, b.ReduceKeep(b.Mul(t, b.Sub(t, sum)), {1}, "add"))});
      auto graph = b.Build();
      ASSERT_TRUE(graph.ok()) << graph.status();
      std::vector<float> values(static_cast<size_t>(rows * n));
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i * 7919 % 1013) / 300;
      if (rows > 90) values[90 * n + n / 2] = std::nanf("");
      Check(**graph, {ir::Literal::FromVector<float>({rows, n}, values)},
            Tolerance::Relative(2e-6));
    }
  }
}

CONFORMANCE_TEST(StagesOfNeighbouringRowsOfIntegers) {
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kS32, {50, 33}));
  Value y = b.Sub(x, b.ReduceKeep(x, {1}, "max"));
  b.Return({b.Mul(y, b.ReduceKeep(b.Mul(y, y), {1}, "add"))});
  Check(b, Tolerance::Exact());
}

CONFORMANCE_TEST(SoftmaxGradient) {
  FuncBuilder b;
  Value y = b.Parameter(Of(DType::kF32, {4, 3, 19})), dy = b.Parameter(Of(DType::kF32, {4, 3, 19}));
  Value sum = b.ReduceKeep(b.Mul(y, dy), {2}, "add");
  b.Return({b.Mul(b.Sub(dy, sum), y)});
  Check(b, Tolerance::Relative(1e-6));
}

}  // namespace
}  // namespace tektite::testing
