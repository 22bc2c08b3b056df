// Convolutions, depthwise and grouped ones, their gradients' layouts, and pooling.
#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::Dim;
using ir::DType;
using ir::Op;
using ir::Shape;
using ir::Value;
using ops::FuncBuilder;
using Ints = std::vector<int64_t>;

Value Weight(FuncBuilder& b, Shape shape) {
  Value w = b.Parameter(std::move(shape));
  w.node->attrs().Set(Attr::weight, true);
  return w;
}

// Bias, relu6, a gate over channels as in squeeze and excitation, a residual.
Value Epilogue(FuncBuilder& b, Value y, int variant) {
  const auto& dims = y.shape().dims();
  switch (variant % 5) {
    case 0:
      return y;
    case 1:
      y = b.Add(y, b.Parameter(Shape(y.dtype(), {dims.back()})));
      return b.Clamp(b.FullLike(y, 0), y, b.FullLike(y, 6));
    case 2:
      return b.Mul(y, b.Parameter(Shape(y.dtype(), {dims[0], Dim(1), Dim(1), dims[3]})));
    case 3:
      return b.Add(b.Max(y, b.FullLike(y, 0)), b.Parameter(y.shape()));
    default:
      return b.Mul(b.Add(y, b.Parameter(Shape(y.dtype(), {dims[0], dims[1], dims[2], Dim(1)}))),
                   b.Parameter(Shape(y.dtype(), {Dim(1), dims[1], dims[2], dims[3]})));
  }
}

CONFORMANCE_TEST(Convolutions) {
  struct Case {
    int64_t batch, height, width, in, out, kh, kw;
    Ints strides, low, high, dilation;
  };
  const std::vector<Case> cases = {
      {1, 8, 8, 3, 16, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {2, 9, 7, 3, 17, 3, 3, {2, 2}, {0, 0}, {1, 1}, {1, 1}},
      {1, 20, 20, 3, 16, 7, 7, {2, 2}, {3, 3}, {3, 3}, {1, 1}},
      {3, 5, 6, 16, 48, 1, 1, {1, 1}, {}, {}, {}},
      {1, 7, 7, 17, 65, 1, 1, {2, 2}, {}, {}, {}},
      {2, 7, 7, 48, 17, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {1, 12, 11, 5, 48, 3, 3, {1, 1}, {2, 2}, {2, 2}, {2, 2}},
      {1, 10, 10, 4, 9, 2, 5, {1, 2}, {0, 2}, {1, 2}, {1, 1}},
      {2, 1, 30, 8, 20, 1, 9, {1, 1}, {0, 8}, {0, 0}, {1, 1}},
      {1, 30, 1, 8, 20, 9, 1, {1, 1}, {8, 0}, {0, 0}, {1, 1}},
      {2, 6, 6, 1, 1, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {1, 4, 4, 65, 3, 4, 4, {1, 1}, {}, {}, {}},
      {1, 3, 3, 2, 40, 3, 3, {1, 1}, {5, 5}, {5, 5}, {1, 1}},  // windows that see padding alone
      {2, 40, 40, 16, 32, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {1, 5, 5, 600, 20, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {0, 5, 5, 3, 4, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {1, 6, 6, 3, 8, 3, 3, {1, 1}, {-1, 1}, {1, -1}, {1, 1}},
      {2, 9, 9, 6, 8, 3, 3, {4, 3}, {1, 0}, {0, 2}, {1, 2}},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    for (int variant = 0; variant < 6; ++variant) {
      if (!HasTurn(i + variant)) continue;
      SCOPED_TRACE(absl::StrCat("case ", i, " variant ", variant));
      const Case& c = cases[i];
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {c.batch, c.height, c.width, c.in}));
      Shape shape = Of(DType::kF32, {c.kh, c.kw, c.in, c.out});
      Value w = variant == 5 ? b.Parameter(shape) : Weight(b, shape);
      FuncBuilder::ConvOptions options;
      options.strides = c.strides;
      options.low = c.low;
      options.high = c.high;
      options.rhs_dilation = c.dilation;
      b.Return({Epilogue(b, b.Convolution(x, w, options), variant)});
      Check(b, Tolerance::Relative(1e-6));
    }
  }
}

CONFORMANCE_TEST(ConvolutionsOfVolumes) {
  struct Case {
    Ints image, kernel, strides, low, high, dilation;  // image [n, d, h, w, c]
  };
  const std::vector<Case> cases = {
      {{2, 4, 5, 6, 3}, {2, 3, 3, 3, 16}, {1, 1, 1}, {}, {}, {}},
      {{1, 5, 7, 6, 8}, {3, 3, 3, 8, 33}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}},
      {{2, 7, 6, 8, 4}, {3, 2, 3, 4, 20}, {2, 2, 2}, {0, 1, 1}, {1, 0, 1}, {}},
      {{1, 6, 6, 6, 5}, {3, 1, 1, 5, 17}, {1, 1, 1}, {1, 0, 0}, {1, 0, 0}, {}},
      {{1, 6, 6, 6, 5}, {1, 3, 3, 5, 17}, {2, 1, 1}, {0, 1, 1}, {0, 1, 1}, {}},
      {{1, 6, 6, 6, 5}, {1, 1, 1, 5, 17}, {1, 1, 1}, {2, 0, 0}, {1, 0, 0}, {}},
      {{1, 8, 7, 9, 6}, {3, 3, 2, 6, 48}, {1, 1, 1}, {2, 1, 0}, {2, 1, 1}, {2, 1, 2}},
      {{1, 3, 20, 20, 16}, {3, 3, 3, 16, 64}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}},
      {{1, 2, 5, 5, 300}, {2, 3, 3, 300, 20}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}},
      {{0, 4, 5, 6, 3}, {2, 3, 3, 3, 16}, {1, 1, 1}, {}, {}, {}},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    for (int variant = 0; variant < 4; ++variant) {
      SCOPED_TRACE(absl::StrCat("case ", i, " variant ", variant));
      const Case& c = cases[i];
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, c.image));
      const Shape shape = Of(DType::kF32, c.kernel);
      Value w = variant == 3 ? b.Parameter(shape) : Weight(b, shape);
      FuncBuilder::ConvOptions options;
      options.input_layout = options.output_layout = "b012f";
      options.kernel_layout = "012io";
      options.strides = c.strides;
      options.low = c.low;
      options.high = c.high;
      options.rhs_dilation = c.dilation;
      Value y = b.Convolution(x, w, options);
      if (variant == 1)
        y = b.Max(b.Add(y, b.Parameter(Of(DType::kF32, {c.kernel[4]}))), b.FullLike(y, 0));
      if (variant == 2) y = b.Add(y, b.Parameter(y.shape()));
      b.Return({y});
      Check(b, Tolerance::Relative(1e-6));
    }
  }
}

CONFORMANCE_TEST(ConvolutionTypes) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF64}) {
    for (int64_t groups : {1, 20}) {
      FuncBuilder b;
      Value x = b.Parameter(Of(dtype, {2, 6, 5, 20}));
      Value w = Weight(b, Of(dtype, {3, 3, 20 / groups, 20}));
      FuncBuilder::ConvOptions options;
      options.low = options.high = {1, 1};
      options.feature_groups = groups;
      b.Return({Epilogue(b, b.Convolution(x, w, options), 1)});
      Check(b, Tolerance::Ulps(1));
    }
  }
}

CONFORMANCE_TEST(Depthwise) {
  for (int64_t channels : {2, 3, 16, 17, 48, 65, 100}) {
    for (int variant = 0; variant < 10; ++variant) {
      if (!HasTurn(channels + variant)) continue;
      SCOPED_TRACE(absl::StrCat(channels, " channels, variant ", variant));
      FuncBuilder b;
      const int64_t size = 4 + variant, k = variant < 5 ? 3 : 5;
      Value x = b.Parameter(Of(DType::kF32, {1 + variant % 3, size, size + 3, channels}));
      Value w = variant % 2 ? b.Parameter(Of(DType::kF32, {k, k, 1, channels}))
                            : Weight(b, Of(DType::kF32, {k, k, 1, channels}));
      FuncBuilder::ConvOptions options;
      const int64_t stride = variant % 4 == 3 ? 2 : 1;
      options.strides = {stride, stride};
      options.low = {variant % 3, variant % 2 + 1};
      options.high = {2, variant % 3};
      options.feature_groups = channels;
      if (variant == 8) options.rhs_dilation = {2, 2};
      b.Return({Epilogue(b, b.Convolution(x, w, options), variant)});
      Check(b, Tolerance::Relative(1e-6));
    }
  }
}

// Rows that take several groups of pixels: without padding, with borders of one group, and with
// borders of so many that their pixels are checked one by one.
CONFORMANCE_TEST(DepthwiseOfWideImages) {
  struct Case {
    int64_t width, stride, dilation, pad;
  };
  const Case cases[] = {{1, 1, 1, 1},   {30, 1, 1, 0},    {57, 1, 1, 1},   {112, 1, 1, 1},
                        {113, 2, 1, 1}, {100, 1, 20, 20}, {64, 2, 30, 45}, {20, 1, 1, 30}};
  for (const Case& c : cases) {
    for (int64_t channels : {5, 32, 144}) {
      if (!HasTurn(static_cast<size_t>(&c - cases + channels))) continue;
      SCOPED_TRACE(absl::StrCat(channels, " channels, width ", c.width, " dilation ", c.dilation));
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {2, 6, c.width, channels}));
      Value w = Weight(b, Of(DType::kF32, {3, 3, 1, channels}));
      FuncBuilder::ConvOptions options;
      options.strides = {c.stride, c.stride};
      options.low = {1, c.pad};
      options.high = {1, c.pad};
      options.rhs_dilation = {1, c.dilation};
      options.feature_groups = channels;
      b.Return({Epilogue(b, b.Convolution(x, w, options), 1)});
      Check(b, Tolerance::Relative(1e-6));
    }
  }
}

CONFORMANCE_TEST(GroupedAndMultipliedConvolutions) {
  for (auto [in, out, groups] : {std::tuple<int64_t, int64_t, int64_t>{8, 12, 4},
                                 {6, 24, 6},  // depthwise with four filters per channel
                                 {34, 34, 2},
                                 {1, 8, 1}}) {
    for (int variant = 0; variant < 2; ++variant) {
      SCOPED_TRACE(absl::StrCat(in, " ", out, " ", groups));
      FuncBuilder b;
      Value x = b.Parameter(Of(DType::kF32, {2, 9, 8, in}));
      Value w = Weight(b, Of(DType::kF32, {3, 3, in / groups, out}));
      FuncBuilder::ConvOptions options;
      options.low = options.high = {1, 1};
      options.strides = {2, 1};
      options.feature_groups = groups;
      b.Return({Epilogue(b, b.Convolution(x, w, options), variant)});
      Check(b, Tolerance::Relative(1e-6));
    }
  }
}

FuncBuilder::ConvOptions FilterGradient() {
  FuncBuilder::ConvOptions options;
  options.input_layout = "f01b";
  options.kernel_layout = "i01o";
  options.output_layout = "01bf";
  return options;
}

CONFORMANCE_TEST(FilterGradients) {
  size_t turn = 0;
  struct Case {
    int64_t batch, height, width, in, out, kh, kw;
    int64_t stride = 1, dilation = 1, pad = 0;
  };
  for (const Case& c : {Case{2, 9, 8, 4, 5, 3, 3},
                        {1, 7, 7, 3, 64, 3, 3, 2, 1, 1},
                        {3, 5, 6, 17, 33, 2, 3, 1, 2, 1},
                        {8, 3, 3, 16, 48, 3, 3},             // one place of the window
                        {4, 6, 6, 20, 7, 1, 1},              // a product
                        {4, 6, 7, 20, 7, 1, 1, 2},           // of every second pixel
                        {2, 40, 40, 16, 20, 3, 3, 1, 1, 1},  // images in pieces
                        {40, 4, 4, 24, 100, 3, 3, 1, 1, 1},
                        {1, 1, 30, 8, 16, 1, 9},
                        {0, 5, 5, 3, 4, 3, 3},
                        {2, 1, 1, 6, 4, 1, 1}}) {
    for (DType dtype : {DType::kF32, DType::kBF16}) {
      if (dtype == DType::kBF16 && !HasTurn(turn++)) continue;
      SCOPED_TRACE(absl::StrCat(c.batch, " of ", c.height, "x", c.width, "x", c.in, " ", c.kh, "x",
                                c.kw, "x", c.out, ir::DTypeName(dtype)));
      FuncBuilder b;
      const auto places = [&](int64_t size, int64_t taps) {
        return (size + 2 * c.pad - (taps - 1) * c.dilation - 1) / c.stride + 1;
      };
      const int64_t p = places(c.height, c.kh), q = places(c.width, c.kw);
      const auto high = [&](int64_t size, int64_t taps, int64_t count) {
        return (taps - 1) * c.dilation + (count - 1) * c.stride + 1 - size - c.pad;
      };
      Value x = b.Parameter(Of(dtype, {c.batch, c.height, c.width, c.in}));
      Value dy = b.Parameter(Of(dtype, {c.batch, p, q, c.out}));
      FuncBuilder::ConvOptions options = FilterGradient();
      options.strides = {c.dilation, c.dilation};
      options.rhs_dilation = {c.stride, c.stride};
      options.low = {c.pad, c.pad};
      options.high = {high(c.height, c.kh, p), high(c.width, c.kw, q)};
      Value df = b.Convolution(x, dy, options);
      ASSERT_EQ(df.shape().sizes(), (Ints{c.kh, c.kw, c.in, c.out}));
      // As an optimizer reads it.
      b.Return({b.Sub(b.Parameter(df.shape()), b.Mul(df, b.FullLike(df, 0.5)))});
      Check(b, dtype == DType::kF32 ? Tolerance::Relative(1e-6) : Tolerance::Ulps(2));
    }
  }
}

// One to four features: few_features.h.  The filter's gradient too, and with padding that is
// crossed by no tap.
CONFORMANCE_TEST(FewFeatures) {
  struct Case {
    std::vector<int64_t> image, window;
    int64_t channels, features;
    std::vector<int64_t> low, high, dilation;
  };
  const Case cases[] = {
      {{7, 6}, {3, 3}, 32, 1, {1, 1}, {1, 1}, {1, 1}},
      {{9, 5}, {3, 2}, 33, 3, {0, 1}, {2, 0}, {1, 1}},
      {{8, 20}, {1, 5}, 16, 1, {0, 0}, {0, 0}, {1, 1}},
      {{9, 9}, {3, 3}, 64, 4, {0, 4}, {3, 0}, {2, 1}},
      {{12}, {4}, 40, 2, {3}, {1}, {1}},
      {{3, 4, 5}, {2, 2, 2}, 24, 1, {1, 0, 0}, {0, 0, 1}, {1, 1, 1}},
      {{1, 1}, {3, 3}, 16, 1, {1, 1}, {1, 1}, {1, 1}},
  };
  for (const Case& c : cases) {
    for (int64_t batch : {0, 1, 3}) {
      if (batch != 3 && !HasTurn(static_cast<size_t>(&c - cases + batch))) continue;
      SCOPED_TRACE(absl::StrCat(batch, " of ", c.image[0], " to ", c.features));
      const std::string digits = std::string("012").substr(0, c.image.size());
      std::vector<int64_t> x = {batch}, k = c.window, dy = {batch};
      for (size_t i = 0; i < c.image.size(); ++i) {
        x.push_back(c.image[i]);
        dy.push_back(c.image[i] + c.low[i] + c.high[i] - (c.window[i] - 1) * c.dilation[i]);
      }
      x.push_back(c.channels);
      dy.push_back(c.features);
      k.insert(k.end(), {c.channels, c.features});
      FuncBuilder b;
      FuncBuilder::ConvOptions forward;
      forward.input_layout = forward.output_layout = "b" + digits + "f";
      forward.kernel_layout = digits + "io";
      forward.low = c.low;
      forward.high = c.high;
      forward.rhs_dilation = c.dilation;
      Value image = b.Parameter(Of(DType::kF32, x));
      Value y = b.Convolution(image, b.Parameter(Of(DType::kF32, k)), forward);
      FuncBuilder::ConvOptions backward = forward;
      backward.input_layout = "f" + digits + "b";
      backward.kernel_layout = "i" + digits + "o";
      backward.output_layout = digits + "bf";
      backward.rhs_dilation = {};
      backward.strides = c.dilation;
      Value df = b.Convolution(image, b.Parameter(Of(DType::kF32, dy)), backward);
      b.Return({b.Logistic(y), df});
      Check(b, Tolerance::Relative(1e-5));
    }
  }
}

CONFORMANCE_TEST(GroupedFilterGradients) {
  for (auto [in, out, groups] : {std::tuple<int64_t, int64_t, int64_t>{8, 12, 4},
                                 {6, 6, 6},
                                 {33, 66, 33},  // depthwise with two filters per channel
                                 {34, 34, 2}}) {
    for (DType dtype : {DType::kF32, DType::kF16}) {
      for (int64_t stride : {1, 2}) {
        SCOPED_TRACE(absl::StrCat(in, " ", out, " ", groups, ir::DTypeName(dtype), " ", stride));
        FuncBuilder b;
        Value x = b.Parameter(Of(dtype, {2, 9, 7, in}));
        Value dy = b.Parameter(Of(dtype, {2, stride == 1 ? 9 : 5, stride == 1 ? 7 : 4, out}));
        FuncBuilder::ConvOptions options = FilterGradient();
        options.rhs_dilation = {stride, stride};
        options.low = options.high = {1, 1};
        options.batch_groups = groups;
        b.Return({b.Convolution(x, dy, options)});
        Check(b, dtype == DType::kF32 ? Tolerance::Relative(1e-6) : Tolerance::Ulps(2));
      }
    }
  }
}

// One filter for each channel: rows of 1 to 9 taps, rows and images that end several blocks of a
// sum, steps between taps and between pixels.
CONFORMANCE_TEST(DepthwiseFilterGradients) {
  size_t turn = 0;
  struct Case {
    std::vector<int64_t> x, dy, taps;
    int64_t tap_step = 1, step = 1;
  };
  for (const Case& c : {Case{{2, 12, 11}, {2, 6, 5}, {7, 7}},
                        {{1, 1030}, {1, 1028}, {3}},
                        {{1, 2, 520}, {1, 2, 520}, {1, 1}},
                        {{3, 40, 36}, {3, 38, 34}, {3, 3}},
                        {{2, 9, 15}, {2, 3, 3}, {3, 9}, 1, 3},
                        {{2, 11, 13}, {2, 7, 5}, {3, 5}, 2, 1},
                        {{0, 9, 9}, {0, 7, 7}, {3, 3}},
                        {{2, 7, 2}, {2, 7, 0}, {1, 3}}}) {
    for (int64_t channels : {2, 16, 48, 33}) {
      for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
        if (dtype != DType::kF32 && !HasTurn(turn++ % 3)) continue;
        FuncBuilder b;
        auto with_channels = [&](std::vector<int64_t> sizes) {
          sizes.push_back(channels);
          return b.Parameter(Of(dtype, sizes));
        };
        Value x = with_channels(c.x), dy = with_channels(c.dy);
        FuncBuilder::ConvOptions options = FilterGradient();
        if (c.taps.size() == 1) {
          options.input_layout = "f0b";
          options.kernel_layout = "i0o";
          options.output_layout = "0bf";
        }
        options.strides.assign(c.taps.size(), c.tap_step);
        options.rhs_dilation.assign(c.taps.size(), c.step);
        options.batch_groups = channels;
        Value df = b.Convolution(x, dy, options);
        SCOPED_TRACE(absl::StrCat(x.shape().ToString(), " ", df.shape().ToString()));
        for (size_t i = 0; i < c.taps.size(); ++i) {
          ASSERT_EQ(df.shape().dim(static_cast<int>(i)), ir::Dim(c.taps[i]));
        }
        b.Return({df});
        Check(b, dtype == DType::kBF16 ? Tolerance::Ulps(2) : Tolerance::Relative(1e-6));
      }
    }
  }
}

// The layouts of a convolution's gradients, and other layouts.
CONFORMANCE_TEST(ConvolutionLayouts) {
  {
    FuncBuilder b;  // towards the input: dilated, with the kernel reversed and transposed
    Value dy = b.Parameter(Of(DType::kF32, {2, 5, 6, 20}));
    Value w = Weight(b, Of(DType::kF32, {3, 3, 7, 20}));
    FuncBuilder::ConvOptions options;
    options.kernel_layout = "01oi";
    options.lhs_dilation = {2, 2};
    options.low = {2, 1};
    options.high = {1, 2};
    b.Return({b.Convolution(dy, b.Reverse(w, {0, 1}), options)});
    Check(b, Tolerance::Relative(1e-6));
  }
  {
    FuncBuilder b;  // towards the filter: batch and features change places
    Value x = b.Parameter(Of(DType::kF32, {4, 9, 8, 7}));
    Value dy = b.Parameter(Of(DType::kF32, {4, 4, 3, 10}));
    FuncBuilder::ConvOptions options;
    options.input_layout = "f01b";
    options.kernel_layout = "i01o";
    options.output_layout = "01bf";
    options.low = {1, 0};
    options.rhs_dilation = {2, 2};
    b.Return({b.Convolution(x, dy, options)});
    Check(b, Tolerance::Relative(1e-6));
  }
  {
    FuncBuilder b;  // NCHW
    Value x = b.Parameter(Of(DType::kF32, {2, 5, 8, 9}));
    Value w = Weight(b, Of(DType::kF32, {3, 3, 5, 18}));
    FuncBuilder::ConvOptions options;
    options.input_layout = options.output_layout = "bf01";
    b.Return({b.Neg(b.Convolution(x, w, options))});
    Check(b, Tolerance::Relative(1e-6));
  }
  {
    FuncBuilder b;  // one spatial dimension
    Value x = b.Parameter(Of(DType::kF32, {3, 20, 6}));
    Value w = Weight(b, Of(DType::kF32, {4, 6, 18}));
    FuncBuilder::ConvOptions options;
    options.input_layout = options.output_layout = "b0f";
    options.kernel_layout = "0io";
    options.strides = {2};
    options.low = {3};
    b.Return({b.Neg(b.Convolution(x, w, options))});
    Check(b, Tolerance::Relative(1e-6));
  }
}

// By phases, and with all phases as features of one convolution.
CONFORMANCE_TEST(TransposedConvolutions) {
  for (const int64_t taps : {2, 3, 4}) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      SCOPED_TRACE(absl::StrCat(taps, ir::DTypeName(dtype)));
      FuncBuilder b;
      Value dy = b.Parameter(Of(dtype, {2, 5, 1, 20}));
      Value w = Weight(b, Of(dtype, {taps, taps, 17, 20}));
      FuncBuilder::ConvOptions options;
      options.kernel_layout = "01oi";
      options.lhs_dilation = {2, 2};
      options.low = options.high = {taps - 1, taps - 1};
      Value y = b.Convolution(dy, b.Reverse(w, {0, 1}), options);
      b.Return({b.Max(y, b.FullLike(y, 0))});
      Check(b, dtype == DType::kF32 ? Tolerance::Relative(1e-6) : Tolerance::Ulps(2));
    }
  }
}

}  // namespace
}  // namespace tektite::testing
