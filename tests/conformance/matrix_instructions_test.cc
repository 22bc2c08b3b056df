// Products of f16 and bf16 in the sizes and layouts that matrix instructions tell apart: whole
// vectors and single elements along either dimension, few rows, small tiles and large ones.
#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::DType;
using ir::Value;
using ops::FuncBuilder;

struct Case {
  int64_t m, n, k;
};

// relu(lhs x rhs + residual)
void BuildProduct(FuncBuilder& b, DType dtype, std::vector<int64_t> batch, const Case& c,
                  bool lhs_transposed, bool rhs_transposed) {
  const auto shape = [&](int64_t rows, int64_t columns, bool transposed) {
    std::vector<int64_t> sizes = batch;
    sizes.push_back(transposed ? columns : rows);
    sizes.push_back(transposed ? rows : columns);
    return Of(dtype, sizes);
  };
  Value x = b.Parameter(shape(c.m, c.k, lhs_transposed));
  Value w = b.Parameter(shape(c.k, c.n, rhs_transposed));
  Value residual = b.Parameter(shape(c.m, c.n, false));
  Value y = b.Add(b.MatMul(x, w, lhs_transposed, rhs_transposed), residual);
  b.Return({b.Max(y, b.Full(dtype, 0, y.shape().dims()))});
}

CONFORMANCE_TEST(MatricesOfEveryLayout) {
  // Several steps and tiles, with ragged ends; one row of tiles; few rows; nothing that is aligned.
  const Case cases[] = {{72, 80, 136}, {16, 136, 40}, {5, 64, 96}, {1, 24, 200}, {21, 25, 37}};
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    for (const Case& c : cases) {
      for (int layout = 0; layout < 4; ++layout) {
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
  FuncBuilder b;
  BuildProduct(b, DType::kBF16, {132}, {72, 72, 40}, false, false);
  CompileOptions options;
  options.symbolic = false;
  Check(b, Tolerance::Ulps(1), options);
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
