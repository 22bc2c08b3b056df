// Products of bf16 and s8 in words of k (backends/cpu/contraction/pairs/pair_tiling.h): every kind
// of ragged end, rows that are read in place and rows that are packed, either order of either
// operand, and special values, which must stay in their own rows and columns.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"
#include "tests/conformance/some_targets.h"

namespace tektite::testing {
namespace {

using ir::DType;
using ir::Literal;
using ir::Value;
using ops::FuncBuilder;

class PairProducts : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, PairProducts,
                         ::testing::ValuesIn(CpuTargets(__builtin_cpu_supports("avx512vnni"))),
                         [](const auto& info) { return info.param.name; });

struct Case {
  int64_t m, n, k;
};

Value Product(FuncBuilder& b, const Case& c, bool lhs_transposed, bool rhs_transposed) {
  const auto shape = [](int64_t rows, int64_t columns, bool transposed) {
    return Of(DType::kBF16, transposed ? std::vector<int64_t>{columns, rows}
                                       : std::vector<int64_t>{rows, columns});
  };
  Value x = b.Parameter(shape(c.m, c.k, lhs_transposed));
  Value w = b.Parameter(shape(c.k, c.n, rhs_transposed));
  return b.MatMul(x, w, lhs_transposed, rhs_transposed);
}

TEST_P(PairProducts, PairsOfEverySize) {
  const Case cases[] = {{6, 8, 8},    {16, 16, 16},  {17, 15, 31}, {31, 17, 33},  {32, 32, 64},
                        {33, 33, 65}, {48, 100, 48}, {70, 64, 1},  {70, 1, 64},   {65, 40, 2},
                        {64, 96, 34}, {200, 31, 72}, {7, 200, 96}, {129, 24, 200}};
  int count = 0;
  for (const Case& c : cases) {
    for (int layout = 0; layout < 4; ++layout) {
      if (!HasTurn(static_cast<size_t>(&c - cases + layout + layout / 2))) continue;
      SCOPED_TRACE(absl::StrCat(c.m, "x", c.k, "x", c.n, ", layout ", layout));
      FuncBuilder b;
      b.Return({Product(b, c, layout % 2 != 0, layout / 2 != 0)});
      CompileOptions options;
      options.symbolic = ++count % 3 == 0;
      Check(b, Tolerance::Ulps(1), options);
      if (HasFatalFailure()) return;
    }
  }
}

// The accumulators are f32, and so may the result be: rounding happens in the epilogue alone.
TEST_P(PairProducts, PairsWithEpilogues) {
  for (const Case& c : {Case{40, 48, 64}, Case{37, 19, 45}}) {
    FuncBuilder b;
    Value y = Product(b, c, false, false);
    Value bias = b.Parameter(Of(DType::kBF16, {c.n}));
    Value residual = b.Parameter(Of(DType::kF32, {c.m, c.n}));
    Value z = b.Add(y, b.BroadcastInDim(bias, y.shape().dims(), {1}));
    z = b.Max(z, b.Full(DType::kBF16, 0, z.shape().dims()));
    b.Return({z, b.Add(b.Convert(z, DType::kF32), residual)});
    Check(b, Tolerance::Ulps(1));
  }
}

// A batch in front and in the middle, as attention has them, and a batch of gradients.
TEST_P(PairProducts, PairsInBatches) {
  struct Batched {
    std::vector<int64_t> lhs, rhs;
    ops::DotDims dims;
  };
  const std::vector<Batched> cases = {
      {{5, 20, 32}, {5, 32, 24}, {{0}, {0}, {2}, {1}, {}, {}}},
      {{2, 33, 3, 16}, {2, 35, 3, 16}, {{0, 2}, {0, 2}, {3}, {3}, {}, {}}},
      {{2, 3, 33, 35}, {2, 35, 3, 16}, {{0, 1}, {0, 2}, {3}, {1}, {}, {}}},
      {{3, 35, 20}, {3, 35, 17}, {{0}, {0}, {1}, {1}, {}, {}}},
      {{4, 9, 40}, {4, 9, 50}, {{}, {}, {0, 1}, {0, 1}, {}, {}}},
      {{4, 9, 40}, {4, 9, 50}, {{}, {}, {0}, {0}, {}, {}}},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kBF16, cases[i].lhs));
    Value w = b.Parameter(Of(DType::kBF16, cases[i].rhs));
    b.Return({b.DotGeneral(x, w, cases[i].dims)});
    Check(b, Tolerance::Ulps(1));
  }
}

TEST_P(PairProducts, PairsInConvolutions) {
  struct Image {
    std::vector<int64_t> image, kernel;
    int64_t stride, padding;
  };
  const Image cases[] = {
      {{2, 8, 16, 32}, {3, 3, 32, 24}, 1, 1},  // in place
      {{2, 8, 32, 16}, {3, 3, 16, 40}, 2, 1},  // in place, every second pixel
      {{1, 9, 7, 16}, {3, 3, 16, 24}, 1, 1},   // rows of other sizes
      {{2, 9, 9, 3}, {3, 3, 3, 16}, 1, 0},     // an odd run
      {{2, 9, 9, 5}, {1, 1, 5, 33}, 2, 0},      {{1, 6, 6, 64}, {1, 1, 64, 64}, 1, 0},
      {{2, 3, 7, 128}, {3, 3, 128, 520}, 1, 1},  // weights that L2 does not hold
  };
  for (size_t i = 0; i < std::size(cases); ++i) {
    SCOPED_TRACE(i);
    const Image& c = cases[i];
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kBF16, c.image));
    Value w = b.Parameter(Of(DType::kBF16, c.kernel));
    w.node->attrs().Set(ir::Attr::weight, i % 2 == 0);
    FuncBuilder::ConvOptions options;
    options.strides = {c.stride, c.stride};
    options.low = options.high = {c.padding, c.padding};
    b.Return({b.Convolution(x, w, options)});
    Check(b, Tolerance::Ulps(1));
  }
}

// Gradients whose k is cut into pieces: of an even number of rows, of images, and of one image of
// many.
TEST_P(PairProducts, PairsInPieces) {
  CompileOptions options;
  options.symbolic = false;
  for (const Case& c : {Case{40, 48, 6144}, Case{17, 33, 4100}}) {
    SCOPED_TRACE(c.k);
    FuncBuilder b;
    Value y = Product(b, c, true, false);
    b.Return({b.Add(y, b.Parameter(y.shape()))});
    Check(b, Tolerance::Ulps(1), options);
  }
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kBF16, {5, 25, 32, 16}));
  Value y = b.Parameter(Of(DType::kBF16, {5, 25, 32, 40}));
  ops::DotDims dims;
  dims.lhs_contracting = dims.rhs_contracting = {0, 1, 2};
  FuncBuilder::ConvOptions filter;
  filter.input_layout = "f01b";
  filter.kernel_layout = "i01o";
  filter.output_layout = "01bf";
  filter.low = filter.high = {1, 1};
  b.Return({b.DotGeneral(x, y, dims), b.Convolution(x, y, filter)});
  Check(b, Tolerance::Ulps(1));
}

// NaN and infinities reach their own row and column and no other: what is padded is not multiplied
// by them.  Values below the least normal number count as 0 or as they are.
TEST_P(PairProducts, PairsOfSpecialValues) {
  const float kInf = std::numeric_limits<float>::infinity();
  for (const Case& c : {Case{33, 33, 33}, Case{40, 40, 64}, Case{16, 20, 17}}) {
    for (int layout = 0; layout < 4; ++layout) {
      SCOPED_TRACE(absl::StrCat(c.m, "x", c.k, "x", c.n, ", layout ", layout));
      const bool lhs_transposed = layout % 2 != 0, rhs_transposed = layout / 2 != 0;
      FuncBuilder b;
      b.Return({Product(b, c, lhs_transposed, rhs_transposed)});
      const auto graph = b.Build();
      ASSERT_TRUE(graph.ok()) << graph.status();
      std::vector<Literal> inputs = PlainInputs(**graph, 5);
      const auto set = [](Literal& x, int64_t row, int64_t column, bool transposed, float v) {
        const int64_t at = transposed ? column * x.sizes()[1] + row : row * x.sizes()[1] + column;
        x.mutable_data<ir::BFloat16>()[at] = ir::BFloat16(v);
      };
      set(inputs[0], c.m - 1, c.k - 1, lhs_transposed, std::nanf(""));
      set(inputs[0], 2, 0, lhs_transposed, kInf);
      set(inputs[0], 3, c.k - 1, lhs_transposed, -kInf);
      set(inputs[0], 4, 1, lhs_transposed, -0.0f);
      set(inputs[1], c.k - 1, c.n - 1, rhs_transposed, kInf);
      set(inputs[1], 0, 5, rhs_transposed, std::nanf(""));
      Check(**graph, inputs, Tolerance::Ulps(1));
    }
  }
}

// Sums in a type of their own: of f32 over bf16, and of s32 over s8.
Value WithSums(FuncBuilder& b, Value product, DType sums) {
  ir::Attributes attrs = product.node->attrs();
  attrs.Set(ir::Attr::dtype, sums);
  return b.AddOne(product.node->op(), product.node->operands(), attrs);
}

// s32 sums of u8 times s8.
Value MixedProduct(FuncBuilder& b, Value x, Value w, const ops::DotDims& dims) {
  ir::Attributes attrs;
  attrs.Set(ir::Attr::dtype, DType::kS32);
  attrs.Set(ir::Attr::lhs_contracting, dims.lhs_contracting);
  attrs.Set(ir::Attr::rhs_contracting, dims.rhs_contracting);
  return b.AddOne(ir::Op::kDotGeneral, {x, w}, attrs);
}

TEST_P(PairProducts, SumsOfTheirOwnType) {
  const Case cases[] = {{6, 8, 8},    {17, 15, 31}, {33, 33, 65},   {70, 64, 1},   {64, 96, 34},
                        {7, 200, 96}, {1, 48, 40},  {129, 24, 200}, {40, 48, 256}, {3, 0, 8}};
  int count = 0;
  for (const Case& c : cases) {
    for (const DType dtype : {DType::kBF16, DType::kS8}) {
      SCOPED_TRACE(absl::StrCat(c.m, "x", c.k, "x", c.n, ", ", ir::DTypeName(dtype)));
      FuncBuilder b;
      const Value x = b.Parameter(Of(dtype, {c.m, c.k})), w = b.Parameter(Of(dtype, {c.k, c.n}));
      w.node->attrs().Set(ir::Attr::weight, ++count % 4 != 0);
      const DType sums = dtype == DType::kS8 ? DType::kS32 : DType::kF32;
      const Value y = WithSums(b, b.MatMul(x, w), sums);
      const Value scale = b.Parameter(Of(DType::kF32, {c.n}));
      b.Return({b.Mul(b.Convert(y, DType::kF32), b.BroadcastInDim(scale, y.shape().dims(), {1}))});
      CompileOptions options;
      options.symbolic = count % 3 == 0;
      Check(b, Tolerance::Ulps(1), options);
      if (HasFatalFailure()) return;
    }
  }
}

// Bytes without a sign on the left, with and without whole steps, and of few rows.
TEST_P(PairProducts, BytesWithoutSign) {
  const Case cases[] = {{33, 33, 65}, {40, 48, 256}, {7, 200, 96}, {49, 24, 18}, {50, 8, 8},
                        {1, 48, 40},  {5, 32, 64},   {3, 0, 8},    {61, 40, 11}};
  int count = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.m, "x", c.k, "x", c.n));
    FuncBuilder b;
    const Value x = b.Parameter(Of(DType::kU8, {c.m, c.k})),
                w = b.Parameter(Of(DType::kS8, {c.k, c.n}));
    w.node->attrs().Set(ir::Attr::weight, ++count % 3 != 0);
    ops::DotDims dims;
    dims.lhs_contracting = {1};
    dims.rhs_contracting = {0};
    const Value y = MixedProduct(b, x, w, dims);
    const Value scale = b.Parameter(Of(DType::kF32, {c.n}));
    b.Return({b.Mul(b.Convert(y, DType::kF32), b.BroadcastInDim(scale, y.shape().dims(), {1}))});
    CompileOptions options;
    options.symbolic = count % 2 == 0;
    Check(b, Tolerance::Ulps(1), options);
    if (HasFatalFailure()) return;
  }
}

// The least bytes on both sides: instructions that add pairs of products in 16 bits would limit
// them, and those that take the rows as u8 must not see a sign.
TEST_P(PairProducts, BytesDoNotSaturate) {
  for (const Case& c : {Case{33, 33, 65}, Case{40, 48, 1024}, Case{1, 130, 96}, Case{4, 64, 33},
                        Case{7, 16, 20000}}) {
    FuncBuilder b;
    const Value x = b.Parameter(Of(DType::kS8, {c.m, c.k})),
                w = b.Parameter(Of(DType::kS8, {c.k, c.n}));
    w.node->attrs().Set(ir::Attr::weight, true);
    b.Return({WithSums(b, b.MatMul(x, w), DType::kS32)});
    const auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (const auto& [left, right] : {std::pair(-128, -128), {127, -128}, {-128, 127}}) {
      std::vector<Literal> inputs = PlainInputs(**graph, 5);
      const auto fill = [](Literal& x, int value) {
        int8_t* const to = x.mutable_data<int8_t>();
        for (int64_t i = 0; i < x.num_elements(); ++i) to[i] = static_cast<int8_t>(value);
      };
      fill(inputs[0], left);
      fill(inputs[1], right);
      Check(**graph, inputs);
    }
  }
}

TEST_P(PairProducts, BytesInConvolutions) {
  struct Image {
    std::vector<int64_t> image, kernel;
    int64_t stride, padding;
  };
  const Image cases[] = {
      {{2, 8, 16, 64}, {3, 3, 64, 24}, 1, 1},  // in place
      {{1, 9, 7, 16}, {3, 3, 16, 24}, 2, 1},   // rows of other sizes
      {{2, 9, 9, 3}, {3, 3, 3, 16}, 1, 0},     // a run that is no whole word
      {{1, 6, 6, 64}, {1, 1, 64, 64}, 1, 0},
  };
  for (size_t i = 0; i < std::size(cases); ++i) {
    SCOPED_TRACE(i);
    const Image& c = cases[i];
    FuncBuilder b;
    const Value x = b.Parameter(Of(DType::kS8, c.image)), w = b.Parameter(Of(DType::kS8, c.kernel));
    const Value u = b.Parameter(Of(DType::kU8, c.image));
    w.node->attrs().Set(ir::Attr::weight, true);
    FuncBuilder::ConvOptions options;
    options.strides = {c.stride, c.stride};
    options.low = options.high = {c.padding, c.padding};
    const Value y = WithSums(b, b.Convolution(x, w, options), DType::kS32);
    const Value z = b.AddOne(ir::Op::kConvolution, {u, w}, y.node->attrs());
    b.Return({y, z});
    Check(b);
  }
}

// Groups of one channel and of several, with padding, steps and more columns than a vector; sums of
// more terms than f32 holds exactly are left to other code.
TEST_P(PairProducts, BytesInGroups) {
  struct Image {
    std::vector<int64_t> image, kernel;
    int64_t groups, stride, padding;
  };
  const Image cases[] = {
      {{2, 9, 9, 40}, {3, 3, 1, 40}, 40, 1, 1},  {{1, 8, 30, 32}, {3, 3, 1, 32}, 32, 2, 1},
      {{1, 7, 7, 96}, {5, 5, 1, 192}, 96, 1, 2}, {{2, 6, 5, 24}, {3, 3, 4, 36}, 6, 1, 1},
      {{1, 6, 5, 40}, {1, 3, 20, 66}, 2, 1, 0},  {{0, 6, 5, 8}, {3, 3, 1, 8}, 8, 1, 1},
  };
  for (const Image& c : cases) {
    SCOPED_TRACE(c.groups);
    FuncBuilder b;
    const Value x = b.Parameter(Of(DType::kS8, c.image)), w = b.Parameter(Of(DType::kS8, c.kernel));
    const Value u = b.Parameter(Of(DType::kU8, c.image));
    w.node->attrs().Set(ir::Attr::weight, true);
    FuncBuilder::ConvOptions options;
    options.strides = {c.stride, c.stride};
    options.low = options.high = {c.padding, c.padding};
    options.feature_groups = c.groups;
    const Value y = WithSums(b, b.Convolution(x, w, options), DType::kS32);
    const Value z = b.AddOne(ir::Op::kConvolution, {u, w}, y.node->attrs());
    const Value scale = b.Parameter(Of(DType::kF32, {c.kernel.back()}));
    b.Return({y, b.Mul(b.Convert(z, DType::kF32), b.BroadcastInDim(scale, z.shape().dims(), {3}))});
    Check(b);
    if (HasFatalFailure()) return;
  }
}

// The greatest sums that f32 holds exactly, and longer ones.
TEST_P(PairProducts, LongSumsOfBytesInGroups) {
  for (const int64_t channels : {56, 57, 90}) {
    SCOPED_TRACE(channels);
    FuncBuilder b;
    const Value x = b.Parameter(Of(DType::kS8, {1, 4, 4, 2 * channels})),
                u = b.Parameter(Of(DType::kU8, {1, 4, 4, 2 * channels})),
                w = b.Parameter(Of(DType::kS8, {3, 3, channels, 32}));
    w.node->attrs().Set(ir::Attr::weight, true);
    FuncBuilder::ConvOptions options;
    options.feature_groups = 2;
    options.strides = {1, 1};
    options.low = options.high = {0, 0};
    const Value y = WithSums(b, b.Convolution(x, w, options), DType::kS32);
    b.Return({y, b.AddOne(ir::Op::kConvolution, {u, w}, y.node->attrs())});
    const auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    std::vector<Literal> inputs = PlainInputs(**graph, 5);
    for (Literal& input : inputs) {
      if (input.dtype() == DType::kS8) {
        std::fill_n(input.mutable_data<int8_t>(), input.num_elements(), int8_t{-128});
      } else {
        std::fill_n(input.mutable_data<uint8_t>(), input.num_elements(), uint8_t{255});
      }
    }
    Check(**graph, inputs);
  }
}

}  // namespace
}  // namespace tektite::testing
