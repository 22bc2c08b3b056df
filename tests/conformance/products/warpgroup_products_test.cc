// Products by wgmma and copies of tensors: every layout and epilogue, sizes that end within a tile,
// a step or a chunk, batches, sums of several rounds through the stages, and several tiles of a
// block. Other targets compute the same graphs in their own ways.
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

CompileOptions ByWarpgroups() {
  CompileOptions options;
  options.warpgroups = true;
  options.symbolic = false;  // copies of tensors need rows of whole chunks
  return options;
}

CONFORMANCE_TEST(WarpgroupsOfEveryLayout) {
  // Within one tile and one step; ends in all directions; wide tiles with several steps.
  const Case cases[] = {{24, 40, 48}, {136, 120, 72}, {72, 264, 200}};
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    for (const Case& c : cases) {
      for (int layout = 0; layout < 4; ++layout) {
        SCOPED_TRACE(
            absl::StrCat(ir::DTypeName(dtype), " ", c.m, "x", c.k, "x", c.n, ", layout ", layout));
        FuncBuilder b;
        b.Return({ProductOf(b, dtype, {}, c, layout % 2 != 0, layout / 2 != 0)});
        Check(b, Tolerance::Ulps(1), ByWarpgroups());
        if (HasFatalFailure()) return;
      }
    }
  }
}

// More steps than stages, more tiles than blocks, and tiles in groups of rows of which the last has
// fewer.
CONFORMANCE_TEST(WarpgroupsOfManyStepsAndTiles) {
  for (const Case& c : {Case{128, 136, 648}, Case{1160, 136, 16}, Case{384, 384, 320}}) {
    SCOPED_TRACE(absl::StrCat(c.m, "x", c.k, "x", c.n));
    FuncBuilder b;
    b.Return({ProductOf(b, DType::kBF16, {}, c, false, false)});
    Check(b, Tolerance::Ulps(1), ByWarpgroups());
    if (HasFatalFailure()) return;
  }
}

CONFORMANCE_TEST(WarpgroupsOfBatches) {
  for (int layout = 0; layout < 4; ++layout) {
    SCOPED_TRACE(absl::StrCat("layout ", layout));
    FuncBuilder b;
    b.Return({ProductOf(b, DType::kF16, {2, 3}, {40, 72, 80}, layout % 2 != 0, layout / 2 != 0)});
    Check(b, Tolerance::Ulps(1), ByWarpgroups());
    if (HasFatalFailure()) return;
  }
}

// Rows, batches and sums of sizes that are not known, zero among them.
CONFORMANCE_TEST(WarpgroupsOfAnySize) {
  const ir::Dim rows = ir::Dim::Symbol("n"), chunks = ir::Dim::Symbol("m");
  FuncBuilder b;
  Value x = b.Parameter(ir::Shape(DType::kBF16, {rows, 72}));
  Value w = b.Parameter(ir::Shape(DType::kBF16, {72, 136}));
  Value lhs = b.Parameter(ir::Shape(DType::kBF16, {rows, 40, chunks * 8}));
  Value rhs = b.Parameter(ir::Shape(DType::kBF16, {rows, chunks * 8, 48}));
  Value counts = b.Parameter(ir::Shape(DType::kF32, {chunks}));  // says what m is
  b.Return({b.MatMul(x, w), b.MatMul(lhs, rhs), b.Neg(counts)});
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<SizeValues> sizes;
  for (auto [n, m] : std::vector<std::pair<int64_t, int64_t>>{
           {3, 5}, {1, 1}, {0, 4}, {4, 0}, {150, 9}, {1100, 1}}) {
    sizes.push_back({{"n", n}, {"m", m}});
  }
  CompileOptions options = ByWarpgroups();
  options.must_be_symbolic = true;
  CheckSizes(**graph, sizes, Tolerance::Relative(2e-2), options);
}

CONFORMANCE_TEST(WarpgroupsWithBiasActivationAndResidual) {
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    FuncBuilder b;
    Value y = ProductOf(b, dtype, {}, {136, 264, 72}, false, false);
    Value bias = b.Parameter(Of(dtype, {264}));
    Value residual = b.Parameter(Of(dtype, {136, 264}));
    y = b.Add(y, b.BroadcastInDim(bias, y.shape().dims(), {1}));
    y = b.Add(b.Max(y, b.Full(dtype, 0, y.shape().dims())), residual);
    b.Return({y});
    Check(b, Tolerance::Ulps(1), ByWarpgroups());
    if (HasFatalFailure()) return;
  }
}

CONFORMANCE_TEST(WarpgroupsWithGelu) {
  FuncBuilder b;
  Value y = ProductOf(b, DType::kBF16, {}, {72, 136, 64}, false, true);
  Value x = b.Convert(y, DType::kF32);
  const auto full = [&](double v) { return b.Full(DType::kF32, v, x.shape().dims()); };
  Value half = b.Mul(b.Erf(b.Mul(x, full(0.70710678118654752))), full(0.5));
  b.Return({b.Convert(b.Mul(x, b.Add(half, full(0.5))), DType::kBF16)});
  Check(b, Tolerance::Ulps(1), ByWarpgroups());
}

// Several results, of other types than the operands; rows that are no whole vectors.
CONFORMANCE_TEST(WarpgroupsWithSeveralResults) {
  for (const int64_t columns : {136, 133}) {
    FuncBuilder b;
    const bool whole = columns % 8 == 0;
    Value y = ProductOf(b, DType::kF16, {}, {40, columns, 64}, false, /*rhs_transposed=*/!whole);
    Value wide = b.Convert(y, DType::kF32);
    b.Return({b.Tanh(wide), b.Convert(b.Neg(wide), DType::kBF16)});
    Check(b, Tolerance::Ulps(2), ByWarpgroups());
    if (HasFatalFailure()) return;
  }
}

// What stands beside an end is not touched: zeros outside of an operand meet no infinity.
CONFORMANCE_TEST(WarpgroupsOfNumbersThatAreNone) {
  FuncBuilder b;
  b.Return({ProductOf(b, DType::kBF16, {}, {40, 72, 72}, false, false)});
  std::vector<ir::Literal> inputs = PlainInputs(*b.graph(), 5);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float values[] = {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
                          -0.0f,     0x1p-133f,  3e38f};
  for (size_t i = 0; i < std::size(values); ++i) {
    for (size_t operand = 0; operand < 2; ++operand) {
      inputs[operand].mutable_data<ir::BFloat16>()[i * 97 + 71] = ir::BFloat16(values[i]);
    }
  }
  Check(*b.graph(), inputs, Tolerance::Ulps(1), ByWarpgroups());
}

}  // namespace
}  // namespace tektite::testing
