// Convolutions leave padding out: an infinite weight, or NaN, that meets only padding is in no sum.
//
// On CPUs padding is zeros, and so it is where legalize copies an image with its padding
// (docs/numbers.md): for gradients of filters, as in TensorFlow.
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "jit/reference/interpreter.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::DType;
using ir::Literal;
using ir::Value;
using ops::FuncBuilder;
using Ints = std::vector<int64_t>;
using Limits = std::numeric_limits<double>;

void SetElement(Literal* literal, int64_t at, double value) {
  const Literal one = Literal::ScalarOf(literal->dtype(), value);
  const int bytes = ir::DTypeBytes(literal->dtype());
  std::memcpy(literal->mutable_data<char>() + at * bytes, one.raw(), static_cast<size_t>(bytes));
}

Tolerance ToleranceOf(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 ? Tolerance::Relative(1e-6)
                                                      : Tolerance::Ulps(2);
}

// A weight of the first tap, which meets padding in the first row and column alone, and one of the
// last tap.
std::vector<Literal> InputsOf(FuncBuilder& b, int64_t first, int64_t last) {
  std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
  SetElement(&inputs[1], first, Limits::infinity());
  SetElement(&inputs[1], last, Limits::quiet_NaN());
  return inputs;
}

struct Case {
  Ints image, kernel;
  Ints strides = {1, 1}, low = {1, 1}, high = {1, 1}, dilation = {1, 1};
  int64_t groups = 1;
};

CONFORMANCE_TEST(PaddingBesideInfiniteWeights) {
  if (!is_gpu()) return;
  const std::vector<Case> cases = {
      {{2, 5, 6, 8}, {3, 3, 8, 16}},
      {{1, 5, 6, 3}, {3, 3, 3, 5}},  // elements one by one
      {{1, 9, 8, 8}, {3, 3, 8, 16}, {2, 2}, {1, 1}, {0, 2}},
      {{1, 8, 7, 8}, {3, 3, 8, 8}, {1, 1}, {2, 0}, {2, 1}, {2, 1}},
      {{1, 4, 4, 300}, {3, 3, 300, 24}},  // blocks share the terms
      {{1, 5, 6, 12}, {3, 3, 1, 12}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 12},
      {{1, 5, 6, 32}, {3, 3, 16, 48}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
  };
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64}) {
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), ", case ", i));
      const Case& c = cases[i];
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, c.image)), w = b.Parameter(Of(dtype, c.kernel));
      FuncBuilder::ConvOptions options;
      options.strides = c.strides;
      options.low = c.low;
      options.high = c.high;
      options.rhs_dilation = c.dilation;
      options.feature_groups = c.groups;
      Value y = b.Convolution(x, w, options);
      b.Return({b.Add(y, b.Parameter(Of(dtype, {c.kernel[3]})))});
      Check(*b.graph(), InputsOf(b, 1, ir::Product(c.kernel) - 1), ToleranceOf(dtype));
    }
  }
}

CONFORMANCE_TEST(PaddingBesideInfiniteWeightsInTf32) {
  if (!is_gpu()) return;
  FuncBuilder b;
  Value x = b.Parameter(Of(DType::kF32, {2, 5, 6, 8}));
  FuncBuilder::ConvOptions options;
  options.low = options.high = {1, 1};
  b.Return({b.Convolution(x, b.Parameter(Of(DType::kF32, {3, 3, 8, 16})), options)});
  CompileOptions compile;
  compile.rounds_f32 = true;
  Check(*b.graph(), InputsOf(b, 1, 3 * 3 * 8 * 16 - 1), Tolerance::Relative(1e-6), compile);
}

// Gradients of inputs, by phases where their elements are spread out: what lies between these is
// left out as padding is.
CONFORMANCE_TEST(GradientsOfInputsBesideInfiniteWeights) {
  if (!is_gpu()) return;
  for (DType dtype : {DType::kF32, DType::kBF16}) {
    for (const Ints& spread : {Ints{1, 1}, Ints{2, 2}}) {
      SCOPED_TRACE(absl::StrCat(ir::DTypeName(dtype), ", spread by ", spread[0]));
      FuncBuilder b;
      Value dy = b.Parameter(Of(dtype, {2, 4, 3, 16})), w = b.Parameter(Of(dtype, {3, 3, 8, 16}));
      FuncBuilder::ConvOptions options;
      options.kernel_layout = "01oi";
      options.lhs_dilation = spread;
      options.low = options.high = {2, 2};
      b.Return({b.Convolution(dy, b.Reverse(w, {0, 1}), options)});
      Check(*b.graph(), InputsOf(b, 1, 3 * 3 * 8 * 16 - 1), ToleranceOf(dtype));
    }
  }
}

// The gradient of a filter at every place of 3 x 3 taps, with the padding in the convolution or in
// a copy of the image.
Value GradientOfFilter(FuncBuilder& b, DType dtype, bool copies) {
  Value x = b.Parameter(Of(dtype, {2, 5, 6, 8})), dy = b.Parameter(Of(dtype, {2, 5, 6, 16}));
  FuncBuilder::ConvOptions options;
  options.input_layout = "f01b";
  options.kernel_layout = "i01o";
  options.output_layout = "01bf";
  if (copies) {
    x = b.Pad(x, b.Scalar(dtype, 0), {0, 1, 1, 0}, {0, 1, 1, 0});
  } else {
    options.low = options.high = {1, 1};
  }
  return b.Convolution(x, dy, options);
}

// TensorFlow multiplies the zeros of padding here: an infinite gradient of the first pixel makes
// NaN of all taps that meet padding there.
CONFORMANCE_TEST(GradientsOfFiltersBesideInfiniteGradients) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64}) {
    SCOPED_TRACE(ir::DTypeName(dtype));
    FuncBuilder padded, copied;
    padded.Return({GradientOfFilter(padded, dtype, false)});
    copied.Return({GradientOfFilter(copied, dtype, true)});
    ASSERT_TRUE(padded.status().ok() && copied.status().ok());
    for (const double value : {Limits::infinity(), Limits::quiet_NaN()}) {
      std::vector<Literal> inputs = PlainInputs(*padded.graph(), 3);
      SetElement(&inputs[1], 1, value);
      const auto want = reference::Evaluate(*copied.graph(), inputs);
      ASSERT_TRUE(want.ok()) << want.status();
      const auto got = CompileAndRun(*padded.graph(), inputs);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(Difference((*got)[0], (*want)[0], ToleranceOf(dtype)), "") << value;
    }
  }
}

}  // namespace
}  // namespace tektite::testing
