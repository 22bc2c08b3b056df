// Products of bytes on cards: matrix instructions and dot products of four (backends/gpu), every
// layout, ragged ends, sums that are cut into slices, and the greatest numbers.  Equal to the bit.
#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"
#include "tests/conformance/products/matrix_case.h"
#include "tests/conformance/some_targets.h"

namespace tektite::testing {
namespace {

using ir::DType;
using ir::Literal;
using ir::Value;
using ops::FuncBuilder;
using Case = MatrixCase;

// The CPU's products of bytes have tests of their own (pair_products_test.cc).
class ByteProducts : public ConformanceTest {};

bool IsCard(const ConformanceTarget& target) {
  return target.backend == kGpu || target.backend == kGpuCard;
}

INSTANTIATE_TEST_SUITE_P(, ByteProducts, ::testing::ValuesIn(TargetsWhere(IsCard)),
                         [](const auto& info) { return info.param.name; });

// s32 sums of [batch][m, k] x [k, n], either stored transposed; the right-hand side is of s8.
Value ProductOfBytes(FuncBuilder& b, DType rows, const std::vector<int64_t>& batch, const Case& c,
                     int layout) {
  const bool lhs_transposed = layout % 2 != 0, rhs_transposed = layout / 2 != 0;
  const Value x = b.Parameter(MatrixOf(rows, batch, c.m, c.k, lhs_transposed));
  const Value w = b.Parameter(MatrixOf(DType::kS8, batch, c.k, c.n, rhs_transposed));
  std::vector<int64_t> dims;
  for (size_t i = 0; i < batch.size(); ++i) dims.push_back(static_cast<int64_t>(i));
  const auto rank = static_cast<int64_t>(batch.size());
  ir::Attributes attrs;
  attrs.Set(ir::Attr::dtype, DType::kS32);
  attrs.Set(ir::Attr::lhs_batch, dims);
  attrs.Set(ir::Attr::rhs_batch, dims);
  attrs.Set(ir::Attr::lhs_contracting, std::vector<int64_t>{lhs_transposed ? rank : rank + 1});
  attrs.Set(ir::Attr::rhs_contracting, std::vector<int64_t>{rhs_transposed ? rank + 1 : rank});
  return b.AddOne(ir::Op::kDotGeneral, {x, w}, attrs);
}

Value Scaled(FuncBuilder& b, Value sums) {
  const ir::Dims& dims = sums.shape().dims();
  const int last = sums.shape().rank() - 1;
  const Value scale = b.Parameter(ir::Shape(DType::kF32, {dims.back()}));
  return b.Mul(b.Convert(sums, DType::kF32), b.BroadcastInDim(scale, dims, {last}));
}

// A next layer's bytes.
Value Requantized(FuncBuilder& b, Value sums, DType dtype) {
  const Value low = b.FullLike(sums, dtype == DType::kS8 ? -128 : 0);
  const Value high = b.FullLike(sums, dtype == DType::kS8 ? 127 : 255);
  return b.Convert(b.Max(b.Min(sums, high), low), dtype);
}

TEST_P(ByteProducts, BytesOfEveryLayout) {
  // Several steps and tiles; one row of tiles; few rows, of the types of either kernel; nothing
  // that is aligned; a vector.
  const Case cases[] = {{80, 96, 144}, {16, 144, 48}, {9, 128, 64}, {5, 64, 96},
                        {1, 32, 208},  {21, 25, 37},  {72, 80, 136}};
  int count = 0;
  for (const DType rows : {DType::kS8, DType::kU8}) {
    for (const Case& c : cases) {
      for (int layout = 0; layout < 4; ++layout) {
        if (!HasTurn(static_cast<size_t>(++count + layout / 2))) continue;
        SCOPED_TRACE(
            absl::StrCat(ir::DTypeName(rows), " ", c.m, "x", c.k, "x", c.n, ", layout ", layout));
        FuncBuilder b;
        const Value sums = ProductOfBytes(b, rows, {}, c, layout);
        if (count % 3 == 0) {
          b.Return({Requantized(b, sums, rows)});
        } else if (count % 3 == 1) {
          b.Return({Scaled(b, sums)});
        } else {
          b.Return({sums});
        }
        CompileOptions options;
        options.symbolic = count % 4 == 0;
        Check(b, {}, options);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(ByteProducts, BytesOfEverySize) {
  const Case cases[] = {{1, 1, 1},    {1, 16, 64},  {2, 48, 33},  {8, 256, 64}, {7, 32, 100},
                        {17, 1, 16},  {16, 16, 0},  {3, 0, 8},    {0, 16, 16},  {40, 16, 1},
                        {33, 33, 65}, {64, 64, 63}, {65, 17, 129}};
  int count = 0;
  for (const Case& c : cases) {
    const int layout = ++count % 4;
    SCOPED_TRACE(absl::StrCat(c.m, "x", c.k, "x", c.n, ", layout ", layout));
    FuncBuilder b;
    b.Return({ProductOfBytes(b, count % 2 == 0 ? DType::kS8 : DType::kU8, {}, c, layout)});
    Check(b);
    if (HasFatalFailure()) return;
  }
}

TEST_P(ByteProducts, BytesInBatches) {
  CompileOptions options;
  options.symbolic = false;
  int layout = 0;
  for (const Case& c : {Case{20, 32, 64}, Case{3, 48, 32}, Case{18, 19, 20}, Case{2, 7, 64}}) {
    SCOPED_TRACE(absl::StrCat(c.m, "x", c.k, "x", c.n, ", layout ", layout));
    FuncBuilder b;
    b.Return({ProductOfBytes(b, DType::kU8, {2, 3}, c, layout++ % 4)});
    Check(b, {}, options);
  }
}

// Of few terms: what is larger is compiled and not run.
TEST_P(ByteProducts, BytesInLargeTiles) {
  for (const Case& c : {Case{80, 80, 16}, Case{80, 144, 8}}) {
    for (const int layout : {0, 3}) {
      FuncBuilder b;
      b.Return({Scaled(b, ProductOfBytes(b, DType::kS8, {132}, c, layout))});
      CompileOptions options;
      options.symbolic = false;
      Check(b, {}, options);
    }
  }
}

// Few blocks share the terms of long sums, which are added in a second launch.
TEST_P(ByteProducts, BytesInSlices) {
  CompileOptions options;
  options.symbolic = false;
  for (const Case& c : {Case{20, 32, 1104}, Case{67, 37, 1537}}) {
    FuncBuilder b;
    b.Return({Scaled(b, ProductOfBytes(b, DType::kU8, {}, c, 0))});
    Check(b, {}, options);
  }
}

// Results of the operands' type wrap round.
TEST_P(ByteProducts, BytesWithoutATypeOfSums) {
  for (const DType dtype : {DType::kS8, DType::kU8}) {
    for (const Case& c : {Case{33, 32, 64}, Case{4, 64, 48}, Case{3, 17, 64}}) {
      FuncBuilder b;
      b.Return({ProductOf(b, dtype, {}, c, false, false)});
      Check(b);
    }
  }
}

TEST_P(ByteProducts, TheGreatestBytes) {
  CompileOptions options;
  options.symbolic = false;
  int layout = 0;
  for (const Case& c : {Case{33, 33, 65}, Case{20, 48, 1040}, Case{4, 64, 48}, Case{2, 3, 32},
                        Case{16, 16, 20000}}) {
    for (const DType rows : {DType::kS8, DType::kU8}) {
      SCOPED_TRACE(absl::StrCat(ir::DTypeName(rows), " ", c.m, "x", c.k, "x", c.n));
      FuncBuilder b;
      b.Return({ProductOfBytes(b, rows, {}, c, layout++ % 4)});
      const auto graph = b.Build();
      ASSERT_TRUE(graph.ok()) << graph.status();
      for (const auto& [left, right] : {std::pair(0x80, 0x80), {0x7f, 0x80}, {0xff, 0x7f}}) {
        std::vector<Literal> inputs = PlainInputs(**graph, 5);
        const auto fill = [](Literal& x, int byte) {
          auto* const to = x.mutable_data<uint8_t>();
          std::fill_n(to, x.num_elements(), static_cast<uint8_t>(byte));
        };
        fill(inputs[0], left);
        fill(inputs[1], right);
        Check(**graph, inputs, {}, options);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Weights in bytes beside few rows of floats: of either order, more than four rows, a sum that is
// not whole words, groups of rows in a batch.
TEST_P(ByteProducts, WeightsInBytes) {
  const Case cases[] = {{1, 64, 512}, {3, 48, 64}, {8, 32, 96}, {5, 64, 37}, {4, 640, 48}};
  int count = 0;
  for (const DType rows : {DType::kF32, DType::kBF16, DType::kF16}) {
    for (const Case& c : cases) {
      const bool transposed = ++count % 2 == 0;
      SCOPED_TRACE(absl::StrCat(ir::DTypeName(rows), " ", c.m, "x", c.k, "x", c.n,
                                transposed ? " transposed" : ""));
      FuncBuilder b;
      const std::vector<int64_t> batch =
          count % 3 == 0 ? std::vector<int64_t>{3} : std::vector<int64_t>();
      const auto rank = static_cast<int64_t>(batch.size());
      const Value x = b.Parameter(MatrixOf(rows, batch, c.m, c.k));
      const Value w = b.Parameter(MatrixOf(DType::kS8, batch, c.k, c.n, transposed));
      ir::Attributes attrs;
      attrs.Set(ir::Attr::dtype, DType::kF32);
      const std::vector<int64_t> dims(batch.size(), 0);
      attrs.Set(ir::Attr::lhs_batch, dims);
      attrs.Set(ir::Attr::rhs_batch, dims);
      attrs.Set(ir::Attr::lhs_contracting, std::vector<int64_t>{rank + 1});
      attrs.Set(ir::Attr::rhs_contracting, std::vector<int64_t>{transposed ? rank + 1 : rank});
      const Value sums = b.AddOne(ir::Op::kDotGeneral, {x, w}, attrs);
      b.Return({b.Convert(Scaled(b, sums), rows)});
      CompileOptions options;
      options.symbolic = count % 4 == 0;
      Check(b, rows == DType::kF32 ? Tolerance::Relative(1e-6) : Tolerance::Ulps(1), options);
      if (HasFatalFailure()) return;
    }
  }
}

// Channels in whole vectors and not, padding, steps, dilations, and groups of few and of many
// features.
TEST_P(ByteProducts, BytesInImages) {
  struct Image {
    std::vector<int64_t> image, kernel;
    int64_t stride, padding, dilation = 1, groups = 1;
  };
  const Image cases[] = {
      {{1, 6, 5, 32}, {3, 3, 32, 48}, 1, 1},       {{2, 9, 7, 16}, {3, 3, 16, 24}, 2, 1},
      {{2, 9, 9, 3}, {3, 3, 3, 16}, 1, 0},         {{1, 6, 6, 64}, {1, 1, 64, 64}, 1, 0},
      {{1, 9, 9, 16}, {3, 3, 16, 16}, 1, 2, 2},    {{1, 7, 6, 40}, {3, 3, 1, 40}, 1, 1, 1, 40},
      {{1, 6, 6, 64}, {3, 3, 32, 32}, 1, 1, 1, 2}, {{0, 6, 5, 8}, {3, 3, 8, 8}, 1, 1},
      {{1, 5, 30, 24}, {1, 3, 24, 32}, 1, 0},
  };
  for (size_t i = 0; i < std::size(cases); ++i) {
    SCOPED_TRACE(i);
    const Image& c = cases[i];
    FuncBuilder b;
    const Value x = b.Parameter(Of(i % 2 == 0 ? DType::kS8 : DType::kU8, c.image));
    const Value same = b.Parameter(Of(DType::kS8, c.image)),
                w = b.Parameter(Of(DType::kS8, c.kernel));
    FuncBuilder::ConvOptions options;
    options.strides = {c.stride, c.stride};
    options.low = options.high = {c.padding, c.padding};
    options.rhs_dilation = {c.dilation, c.dilation};
    options.feature_groups = c.groups;
    ir::Attributes attrs = b.Convolution(same, w, options).node->attrs();
    attrs.Set(ir::Attr::dtype, DType::kS32);
    const Value y = b.AddOne(ir::Op::kConvolution, {x, w}, attrs);
    b.Return({i % 3 == 0 ? y : Scaled(b, y)});
    Check(b);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tektite::testing
