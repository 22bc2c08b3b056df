// Products of f32 as three of bf16 halves (backends/cpu/contraction/pairs/pair_tiling.h), which
// --f32_products=bf16x3 permits: every kind of ragged end, epilogues, convolutions, and special
// values.  Where the CPU has no AMX, all of them are products of f32.
#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "backends/cpu/codegen/cpu_features.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::DType;
using ir::Literal;
using ir::Value;
using ops::FuncBuilder;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

class SplitProducts : public ConformanceTest {
 protected:
  SplitProducts() { options_.rounds_f32 = true; }

  // Normal numbers, of which each has all its bits.
  std::vector<Literal> Inputs(const ir::Graph& graph) {
    std::vector<Literal> inputs = PlainInputs(graph, 1);
    std::normal_distribution<float> normal;
    for (Literal& input : inputs) {
      float* const data = input.mutable_data<float>();
      std::generate_n(data, input.num_elements(), [&] { return normal(random_); });
    }
    return inputs;
  }

  // Compares with the interpreter, and says whether all of the graph's products have been split.
  void CheckSplit(FuncBuilder& b, const std::vector<Literal>& inputs, int products) {
    const int64_t before = CompilerFor(options_).counters().bf16_products;
    Check(*b.graph(), inputs, Tolerance::Relative(1e-5), options_);
    const int64_t split = CompilerFor(options_).counters().bf16_products - before;
    if (!cpu::DetectTarget("native")->has_bf16_tiles) products = 0;
    EXPECT_EQ(split > 0, products > 0);
    EXPECT_TRUE(products == 0 || split % products == 0) << split;
  }

  CompileOptions options_;
  std::mt19937 random_{7};
};

INSTANTIATE_TEST_SUITE_P(, SplitProducts,
                         ::testing::Values(ConformanceTarget{"cpu", "cpu", "native"}),
                         [](const auto& info) { return info.param.name; });

Value Weights(FuncBuilder& b, const std::vector<int64_t>& sizes) {
  const Value w = b.Parameter(Of(DType::kF32, sizes));
  w.node->attrs().Set(ir::Attr::weight, true);
  return w;
}

struct Case {
  int64_t m, n, k;
};

TEST_P(SplitProducts, HalvesOfEverySize) {
  const Case cases[] = {{6, 32, 32},   {16, 48, 34},  {17, 33, 63},   {31, 64, 33}, {33, 33, 65},
                        {129, 64, 96}, {65, 40, 200}, {40, 100, 768}, {64, 32, 992}};
  for (const Case& c : cases) {
    for (const bool is_transposed : {false, true}) {
      SCOPED_TRACE(absl::StrCat(c.m, "x", c.k, "x", c.n, is_transposed ? ", transposed" : ""));
      FuncBuilder b;
      const Value x = b.Parameter(Of(DType::kF32, {c.m, c.k}));
      const Value w = Weights(
          b, is_transposed ? std::vector<int64_t>{c.n, c.k} : std::vector<int64_t>{c.k, c.n});
      Value y = b.MatMul(x, w, false, is_transposed);
      const Value bias = b.Parameter(Of(DType::kF32, {c.n}));
      y = b.Add(y, b.BroadcastInDim(bias, y.shape().dims(), {1}));
      b.Return({b.Max(y, b.Full(DType::kF32, 0, y.shape().dims()))});
      CheckSplit(b, Inputs(*b.graph()), 1);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(SplitProducts, HalvesInConvolutions) {
  struct Image {
    std::vector<int64_t> image, kernel;
    int64_t stride, padding;
  };
  const Image cases[] = {
      {{2, 8, 16, 32}, {3, 3, 32, 40}, 1, 1},
      {{2, 8, 32, 16}, {3, 3, 16, 40}, 2, 1},
      {{1, 9, 7, 160}, {3, 3, 160, 32}, 1, 1},  // which would have been Winograd's
      {{1, 6, 6, 64}, {1, 1, 64, 64}, 1, 0},
      {{2, 3, 7, 128}, {3, 3, 128, 520}, 1, 1},  // weights that L2 does not hold
  };
  for (const Image& c : cases) {
    SCOPED_TRACE(&c - cases);
    FuncBuilder b;
    const Value x = b.Parameter(Of(DType::kF32, c.image));
    FuncBuilder::ConvOptions options;
    options.strides = {c.stride, c.stride};
    options.low = options.high = {c.padding, c.padding};
    b.Return({b.Convolution(x, Weights(b, c.kernel), options)});
    CheckSplit(b, Inputs(*b.graph()), 1);
    if (HasFatalFailure()) return;
  }
}

// What is not split: few rows, columns or terms, a right-hand side that changes, and nothing at
// all.
TEST_P(SplitProducts, ProductsThatStayF32) {
  for (const Case& c :
       {Case{5, 64, 64}, Case{40, 31, 64}, Case{40, 64, 31}, Case{0, 64, 64}, Case{40, 64, 0}}) {
    SCOPED_TRACE(absl::StrCat(c.m, "x", c.k, "x", c.n));
    FuncBuilder b;
    const Value x = b.Parameter(Of(DType::kF32, {c.m, c.k}));
    b.Return({b.MatMul(x, Weights(b, {c.k, c.n}))});
    CheckSplit(b, Inputs(*b.graph()), 0);
  }
  FuncBuilder b;
  const Value x = b.Parameter(Of(DType::kF32, {40, 64}));
  b.Return({b.MatMul(x, b.Parameter(Of(DType::kF32, {64, 64})))});
  CheckSplit(b, Inputs(*b.graph()), 0);
}

// NaN and infinities reach their own row and column and no other, and infinite results have their
// sign: the difference of an infinite number and its rounding is NaN.
TEST_P(SplitProducts, HalvesOfSpecialValues) {
  const int64_t m = 33, n = 40, k = 65;
  FuncBuilder b;
  const Value x = b.Parameter(Of(DType::kF32, {m, k}));
  b.Return({b.MatMul(x, Weights(b, {k, n}))});
  std::vector<Literal> inputs = Inputs(*b.graph());
  const auto set = [&](int operand, int64_t row, int64_t column, float v) {
    Literal& literal = inputs[operand];
    literal.mutable_data<float>()[row * literal.sizes()[1] + column] = v;
  };
  set(0, m - 1, k - 1, kNan);
  set(0, 2, 0, kInf);
  set(0, 3, k - 1, -kInf);
  set(0, 4, 1, -0.0f);
  set(0, 5, 3, 0);  // 0 times infinity
  set(0, 6, 3, 1e30f);
  set(0, 7, 3, -kInf);
  set(0, 8, 3, 1e-30f);
  set(1, 3, 7, kInf);
  set(1, 3, 8, -kInf);
  set(1, 0, 5, kNan);
  set(1, 0, 6, 0);
  set(1, k - 1, 9, 1.0f);  // which bf16 holds: the rest is 0
  CheckSplit(b, inputs, 1);
}

// Beyond what bf16 holds a number is infinite, and near f32's least numbers it keeps 8 bits.
TEST_P(SplitProducts, HalvesOfExtremeNumbers) {
  if (!cpu::DetectTarget("native")->has_bf16_tiles) return;
  const int64_t rows = 16, columns = 32, depth = 32;
  FuncBuilder b;
  const Value x = b.Parameter(Of(DType::kF32, {rows, depth}));
  b.Return({b.MatMul(x, Weights(b, {depth, columns}))});
  std::vector<Literal> inputs = PlainInputs(*b.graph(), 3);
  const float numbers[] = {3.4028235e38f,  -3.4028235e38f, 3.38e38f, 1 + 0x1p-15f, -1 - 0x1.1p-9f,
                           0x1.0101p-100f, 0x1.008p-120f,  1e-40f,   -0.0f};
  const float want[] = {kInf,      -kInf, 3.38e38f, 1 + 0x1p-15f, -1 - 0x1.1p-9f, 0x1.0101p-100f,
                        0x1p-120f, 0,     0};
  std::fill_n(inputs[0].mutable_data<float>(), rows * depth, 0.0f);
  std::fill_n(inputs[1].mutable_data<float>(), depth * columns, 0.0f);
  for (size_t i = 0; i < std::size(numbers); ++i) {
    inputs[0].mutable_data<float>()[i * depth + i] = numbers[i];
    inputs[1].mutable_data<float>()[i * columns + i] = 1;
  }
  const auto got = CompileAndRun(*b.graph(), inputs, options_);
  ASSERT_TRUE(got.ok()) << got.status();
  for (size_t i = 0; i < std::size(numbers); ++i) {
    const float value = (*got)[0].data<float>()[i * columns + i];
    if (std::isfinite(want[i])) {
      EXPECT_NEAR(value, want[i], std::abs(want[i]) * 0x1p-16) << i;
    } else {
      EXPECT_EQ(value, want[i]) << i;
    }
  }
}

}  // namespace
}  // namespace tektite::testing
