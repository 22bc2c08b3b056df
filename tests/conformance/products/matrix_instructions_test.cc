// Products of f16 and bf16 in the sizes and layouts that matrix instructions tell apart: whole
// vectors and single elements along either dimension, few rows, small tiles and large ones.
#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"
#include "tests/conformance/products/matrix_case.h"

namespace tektite::testing {
namespace {

using ir::DType;
using ir::Value;
using ops::FuncBuilder;

using Case = MatrixCase;

// relu(lhs x rhs + residual)
void BuildProduct(FuncBuilder& b, DType dtype, const std::vector<int64_t>& batch, const Case& c,
                  bool lhs_transposed, bool rhs_transposed) {
  Value product = ProductOf(b, dtype, batch, c, lhs_transposed, rhs_transposed);
  Value y = b.Add(product, b.Parameter(MatrixOf(dtype, batch, c.m, c.n)));
  b.Return({b.Max(y, b.Full(dtype, 0, y.shape().dims()))});
}

CONFORMANCE_TEST(MatricesOfEveryLayout) {
  // Several steps and tiles, with ragged ends; one row of tiles; few rows; nothing that is aligned.
  const Case cases[] = {{72, 80, 136}, {16, 136, 40}, {5, 64, 96}, {1, 24, 200}, {21, 25, 37}};
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    for (const Case& c : cases) {
      for (int layout = 0; layout < 4; ++layout) {
        // Pairs of the cpu have tests of their own.
        if (!is_gpu() && layout % 3 != 0) continue;
        SCOPED_TRACE(
            absl::StrCat(ir::DTypeName(dtype), " ", c.m, "x", c.k, "x", c.n, ", layout ", layout));
        FuncBuilder b;
        BuildProduct(b, dtype, {}, c, layout % 2 != 0, layout / 2 != 0);
        CompileOptions options;
        options.symbolic = layout == 0;
        Check(b, Tolerance::Ulps(1), options);
        if (HasFatalFailure()) return;
      }
    }
  }
}

CONFORMANCE_TEST(MatricesInLargeTiles) {
  for (const int64_t columns : {72, 136}) {
    FuncBuilder b;
    BuildProduct(b, DType::kBF16, {132}, {72, columns, 40}, false, false);
    CompileOptions options;
    options.symbolic = false;
    Check(b, Tolerance::Ulps(1), options);
  }
}

// Few blocks share the terms of long sums, which are added in a second launch.
CONFORMANCE_TEST(LongSumsOfFewResults) {
  for (DType dtype : {DType::kBF16, DType::kF32, DType::kF64}) {
    for (const Case& c : {Case{20, 24, 1100}, Case{67, 37, 1537}}) {
      SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), " ", c.m, "x", c.k, "x", c.n));
      FuncBuilder b;
      BuildProduct(b, dtype, {}, c, false, false);
      CompileOptions options;
      options.symbolic = false;
      // The order of additions is another, and sums are large.
      Check(b, dtype == DType::kBF16 ? Tolerance::Ulps(1) : Tolerance::Relative(1e-6), options);
    }
  }
}

// Eighths are whole in TF32, and so is their product with f32's accuracy.
CONFORMANCE_TEST(ProductsInTf32) {
  for (const Case& c : {Case{72, 80, 136}, Case{16, 136, 40}, Case{21, 25, 37}}) {
    for (int layout = 0; layout < 4; ++layout) {
      SCOPED_TRACE(absl::StrCat(c.m, "x", c.k, "x", c.n, ", layout ", layout));
      FuncBuilder b;
      BuildProduct(b, DType::kF32, {}, c, layout % 2 != 0, layout / 2 != 0);
      CompileOptions options;
      options.symbolic = layout == 0;
      options.rounds_f32 = true;
      Check(b, Tolerance::Relative(1e-6), options);
      if (HasFatalFailure()) return;
    }
  }
}

// What f32 has beside them is rounded, to nearest, ties away from zero, where the back end may.
CONFORMANCE_TEST(RoundingToTf32) {
  const size_t rows = 16, depth = 16, columns = 16;
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {rows, depth}));
  Value y = b.Parameter(Of(DType::kF32, {depth, columns}));
  b.Return({b.MatMul(x, y)});
  std::vector<ir::Literal> inputs = PlainInputs(*b.graph(), 3);
  // A row has one number, and the other side is the unit matrix.
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float numbers[] = {1 + 0x1p-11f,   -1 - 0x1p-11f, 1 + 0x1p-12f,
                           1 + 0x1.8p-11f, 3.4028235e38f, 0,
                           -0.5f,          0x1.fffp-3f,   kInfinity};
  const float rounded[] = {1 + 0x1p-10f, -1 - 0x1p-10f, 1,        1 + 0x1p-10f, kInfinity, 0,
                           -0.5f,        0x1p-2f,       kInfinity};
  std::fill_n(inputs[0].mutable_data<float>(), rows * depth, 0.0f);
  std::fill_n(inputs[1].mutable_data<float>(), depth * columns, 0.0f);
  for (size_t i = 0; i < std::size(numbers); ++i) {
    inputs[0].mutable_data<float>()[i * depth + i] = numbers[i];
    inputs[1].mutable_data<float>()[i * columns + i] = 1;
  }
  CompileOptions options;
  options.rounds_f32 = true;
  const auto got = CompileAndRun(*b.graph(), inputs, options);
  ASSERT_TRUE(got.ok()) << got.status();
  for (size_t i = 0; i < std::size(numbers); ++i) {
    EXPECT_EQ((*got)[0].data<float>()[i * columns + i], is_gpu() ? rounded[i] : numbers[i]) << i;
  }
}

// Channels that are whole vectors are copied in the background, the image's padding as zeros.
CONFORMANCE_TEST(ConvolutionsOfWholeVectors) {
  for (const int64_t stride : {1, 2}) {
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kBF16, {2, 9, 7, 16}));
    Value w = b.Parameter(Of(DType::kBF16, {3, 3, 16, 24}));
    FuncBuilder::ConvOptions options;
    options.strides = {stride, stride};
    options.low = options.high = {1, 1};
    Value y = b.Convolution(x, w, options);
    b.Return({b.Tanh(y)});
    Check(b, Tolerance::Ulps(1));
  }
}

}  // namespace
}  // namespace tektite::testing
