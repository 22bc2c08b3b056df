// Convolutions of groups and the gradients of their filters: groups of less than a vector, of
// several, and of sizes that fit neither.
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::Dim;
using ir::DType;
using ir::Literal;
using ir::Shape;
using ir::Value;
using ops::FuncBuilder;
using Ints = std::vector<int64_t>;

struct Groups {
  int64_t count, in, out;  // channels and features of each
};
std::string ToString(const Groups& g) {
  return absl::StrCat(g.count, " groups of ", g.in, " to ", g.out);
}

const std::vector<Groups>& AllGroups() {
  static const auto& all = *new std::vector<Groups>{
      {8, 2, 2},   {5, 2, 2},  {16, 4, 4}, {7, 4, 4},   {40, 4, 4},  {6, 8, 8},   {3, 16, 16},
      {2, 24, 24}, {3, 20, 9}, {7, 3, 3},  {4, 5, 5},   {5, 6, 6},   {3, 7, 7},   {3, 12, 12},
      {2, 17, 33}, {9, 1, 3},  {6, 1, 20}, {10, 3, 1},  {20, 2, 1},  {4, 33, 2},  {2, 70, 4},
      {3, 2, 8},   {3, 8, 2},  {3, 40, 7}, {2, 48, 48}, {2, 80, 16}, {40, 1, 16}, {33, 16, 1}};
  return all;
}

// Sizes, steps and padding of one spatial dimension.
struct Axis {
  int64_t size, taps, stride = 1, dilation = 1, low = 0, high = 0;
  int64_t places() const { return (size + low + high - (taps - 1) * dilation - 1) / stride + 1; }
};
struct Window {
  int64_t images;
  Axis y, x;
};

const std::vector<Window>& Windows() {
  static const auto& all = *new std::vector<Window>{
      {2, {5, 3, 1, 1, 1, 1}, {7, 3, 1, 1, 1, 1}},
      {1, {6, 3, 2, 1, 0, 1}, {9, 3, 2, 1, 0, 1}},
      {1, {7, 3, 1, 2, 2, 2}, {8, 3, 1, 2, 2, 2}},
      {3, {4, 1}, {5, 1}},
      {2, {1, 3, 1, 1, 1, 1}, {1, 3, 1, 1, 1, 1}},  // one pixel
      {1, {3, 2, 1, 1, 0, 1}, {30, 5, 3, 1, 2, 2}},
      {1, {2, 1}, {40, 7, 1, 3, 9, 9}},  // more of the border than has code of its own
      {0, {5, 3, 1, 1, 1, 1}, {5, 3, 1, 1, 1, 1}},
  };
  return all;
}

FuncBuilder::ConvOptions OptionsOf(const Window& w, int64_t groups) {
  FuncBuilder::ConvOptions options;
  options.strides = {w.y.stride, w.x.stride};
  options.low = {w.y.low, w.x.low};
  options.high = {w.y.high, w.x.high};
  options.rhs_dilation = {w.y.dilation, w.x.dilation};
  options.feature_groups = groups;
  return options;
}

// The gradient of a filter: dilations and strides change places, and what no window reaches is cut.
FuncBuilder::ConvOptions GradientOptionsOf(const Window& w, int64_t groups) {
  FuncBuilder::ConvOptions options;
  options.input_layout = "f01b";
  options.kernel_layout = "i01o";
  options.output_layout = "01bf";
  options.strides = {w.y.dilation, w.x.dilation};
  options.rhs_dilation = {w.y.stride, w.x.stride};
  const auto high = [](const Axis& a) {
    return (a.taps - 1) * a.dilation + (a.places() - 1) * a.stride + 1 - a.size - a.low;
  };
  options.low = {w.y.low, w.x.low};
  options.high = {high(w.y), high(w.x)};
  options.batch_groups = groups;
  return options;
}

// Nothing, bias and relu, a residual and a gate over features.
Value Epilogue(FuncBuilder& b, Value y, size_t variant) {
  const auto& dims = y.shape().dims();
  switch (variant % 3) {
    case 0:
      return y;
    case 1:
      return b.Max(b.Add(y, b.Parameter(Shape(y.dtype(), {dims.back()}))), b.FullLike(y, 0));
    default:
      return b.Mul(b.Add(y, b.Parameter(y.shape())),
                   b.Parameter(Shape(y.dtype(), {dims[0], Dim(1), Dim(1), dims[3]})));
  }
}

Tolerance ToleranceOf(DType dtype) {
  return ir::DTypeBytes(dtype) == 2 ? Tolerance::Ulps(2) : Tolerance::Relative(1e-6);
}

DType TypeOf(size_t number) {
  constexpr DType kTypes[] = {DType::kF32, DType::kF32, DType::kBF16,
                              DType::kF32, DType::kF16, DType::kF64};
  return kTypes[number % std::size(kTypes)];
}

// Each size of a group meets some windows, and each window all kinds of groups.
CONFORMANCE_TEST(GroupedConvolutions) {
  size_t number = 0;
  for (const Groups& g : AllGroups()) {
    for (const Window& w : Windows()) {
      ++number;
      if (number % 3 != 0 && !(number % 2 == 0 && HasTurn(1))) continue;
      const DType dtype = TypeOf(number / 3);
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, {w.images, w.y.size, w.x.size, g.count * g.in}));
      Value k = b.Parameter(Of(dtype, {w.y.taps, w.x.taps, g.in, g.count * g.out}));
      if (number % 2 == 0) k.node->attrs().Set(Attr::weight, true);
      SCOPED_TRACE(
          absl::StrCat(ToString(g), ", ", x.shape().ToString(), " ", k.shape().ToString()));
      b.Return({Epilogue(b, b.Convolution(x, k, OptionsOf(w, g.count)), number)});
      Check(b, ToleranceOf(dtype));
    }
  }
}

CONFORMANCE_TEST(FilterGradientsOfGroups) {
  size_t number = 0;
  for (const Groups& g : AllGroups()) {
    for (const Window& w : Windows()) {
      ++number;
      if (number % 3 != 1 && !(number % 2 == 1 && HasTurn(1))) continue;
      const DType dtype = TypeOf(number / 3);
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, {w.images, w.y.size, w.x.size, g.count * g.in}));
      Value dy = b.Parameter(Of(dtype, {w.images, w.y.places(), w.x.places(), g.count * g.out}));
      SCOPED_TRACE(
          absl::StrCat(ToString(g), ", ", x.shape().ToString(), " ", dy.shape().ToString()));
      Value df = b.Convolution(x, dy, GradientOptionsOf(w, g.count));
      ASSERT_EQ(df.shape().sizes(), (Ints{w.y.taps, w.x.taps, g.in, g.count * g.out}));
      // As an optimizer reads it: each element is written once, where it was read.
      if (number % 4 == 1) df = b.Sub(b.Parameter(df.shape()), b.Mul(df, b.FullLike(df, 0.5)));
      b.Return({df});
      Check(b, ToleranceOf(dtype));
    }
  }
}

// Sums of several blocks: many terms for a result, and many pixels for a tap.
CONFORMANCE_TEST(LongSumsOfGroups) {
  for (const Groups& g : {Groups{3, 24, 8}, Groups{2, 260, 6}, Groups{2, 60, 40}}) {
    SCOPED_TRACE(ToString(g));
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {1, 4, 5, g.count * g.in}));
    Value k = b.Parameter(Of(DType::kF32, {3, 5, g.in, g.count * g.out}));
    b.Return(
        {b.Convolution(x, k, OptionsOf({1, {4, 3, 1, 1, 1, 1}, {5, 5, 1, 1, 2, 2}}, g.count))});
    Check(b, Tolerance::Relative(1e-6));
  }
  for (const Groups& g : {Groups{5, 4, 4}, Groups{2, 3, 20}}) {
    for (const Window& w :
         {Window{2, {34, 3, 1, 1, 1, 1}, {30, 3, 1, 1, 1, 1}}, Window{1, {1, 1}, {1060, 3}}}) {
      SCOPED_TRACE(ToString(g));
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {w.images, w.y.size, w.x.size, g.count * g.in}));
      Value dy =
          b.Parameter(Of(DType::kF32, {w.images, w.y.places(), w.x.places(), g.count * g.out}));
      b.Return({b.Convolution(x, dy, GradientOptionsOf(w, g.count))});
      Check(b, Tolerance::Relative(1e-6));
    }
  }
}

// The gradient towards the input of a strided convolution, and a transposed one.
CONFORMANCE_TEST(TransposedConvolutionsOfGroups) {
  for (const Groups& g : {Groups{6, 4, 4}, Groups{3, 5, 3}, Groups{2, 20, 20}, Groups{9, 1, 1}}) {
    for (const int64_t taps : {2, 3, 4}) {
      const DType dtype = taps == 4 ? DType::kBF16 : DType::kF32;
      SCOPED_TRACE(absl::StrCat(ToString(g), ", ", taps, " taps"));
      FuncBuilder b;
      Value dy = b.Parameter(Of(dtype, {2, 5, 4, g.count * g.in}));
      Value k = b.Parameter(Of(dtype, {taps, taps, g.in, g.count * g.out}));
      FuncBuilder::ConvOptions options;
      options.lhs_dilation = {2, 2};
      options.low = {taps - 1, taps - 2};
      options.high = {taps - 1, taps - 1};
      options.feature_groups = g.count;
      Value y = b.Convolution(dy, b.Reverse(k, {0, 1}), options);
      b.Return({b.Max(y, b.FullLike(y, 0))});
      Check(b, ToleranceOf(dtype));
    }
  }
}

// An infinity or a NaN reaches the results of its own group and no other.
CONFORMANCE_TEST(SpecialValuesOfGroups) {
  size_t number = 0;
  for (const Groups& g : AllGroups()) {
    SCOPED_TRACE(ToString(g));
    const Window w = {1, {4, 3, 1, 1, 1, 1}, {6, 3, 1, 1, 1, 1}};
    FuncBuilder b;
    Value x = b.Parameter(Of(DType::kF32, {1, 4, 6, g.count * g.in}));
    Value k = b.Parameter(Of(DType::kF32, {3, 3, g.in, g.count * g.out}));
    k.node->attrs().Set(Attr::weight, true);
    Value dy = b.Parameter(Of(DType::kF32, {1, 4, 6, g.count * g.out}));
    b.Return({b.Convolution(x, k, OptionsOf(w, g.count)),
              b.Convolution(x, dy, GradientOptionsOf(w, g.count))});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    std::vector<Literal> inputs = PlainInputs(**graph, ++number);
    const float special = number % 2 == 0 ? std::numeric_limits<float>::infinity()
                                          : std::numeric_limits<float>::quiet_NaN();
    // One pixel's channel in some group in the middle.
    const int64_t group = number % static_cast<size_t>(g.count), pixel = 8;
    inputs[0].mutable_data<float>()[pixel * g.count * g.in + group * g.in + g.in - 1] = special;
    inputs[2].mutable_data<float>()[9 * g.count * g.out + group * g.out] = special;
    Check(**graph, inputs, Tolerance::Relative(1e-6));
  }
}

}  // namespace
}  // namespace tektite::testing
