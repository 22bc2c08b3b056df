// 3x3 convolutions of stride 1 with enough channels for Winograd's algorithm (Candidates,
// WinogradWhereItGains, tests that such are computed by it).
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "jit/reference/interpreter.h"
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

struct Case {
  Dim batch, height, width;
  int64_t in, out;
  Ints low, high;
};

Value Convolve(FuncBuilder& b, const Case& c) {
  Value x = b.Parameter(Shape(DType::kF32, {c.batch, c.height, c.width, c.in}));
  Value w = b.Parameter(Of(DType::kF32, {3, 3, c.in, c.out}));
  w.node->attrs().Set(Attr::weight, true);
  FuncBuilder::ConvOptions options;
  options.strides = {1, 1};
  options.low = c.low;
  options.high = c.high;
  return b.Convolution(x, w, options);
}

std::vector<Literal> NormalInputs(const ir::Graph& graph) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  std::vector<Literal> inputs;
  for (const ir::Node* p : graph.parameters()) {
    Literal input = Literal::Allocate(DType::kF32, p->shape().sizes());
    float* const data = input.mutable_data<float>();
    std::generate(data, data + input.num_elements(), [&] { return normal(random); });
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// Even and odd sizes, squares that stick out, padding of every kind, ragged panels and blocks.
const std::vector<Case>& Cases() {
  static const auto& cases = *new std::vector<Case>{
      {1, 14, 14, 32, 32, {1, 1}, {1, 1}},  {1, 13, 11, 32, 48, {1, 1}, {1, 1}},
      {3, 7, 7, 48, 32, {1, 1}, {1, 1}},    {2, 12, 9, 16, 65, {0, 0}, {0, 0}},
      {1, 40, 30, 32, 17, {1, 0}, {0, 1}},  {2, 9, 1, 64, 32, {1, 1}, {1, 1}},
      {2, 1, 15, 64, 32, {1, 1}, {1, 1}},   {8, 1, 1, 64, 64, {1, 1}, {1, 1}},
      {1, 10, 10, 32, 32, {3, 2}, {4, 5}},  {2, 30, 31, 64, 96, {1, 1}, {1, 1}},
      {1, 14, 14, 256, 160, {1, 1}, {1, 1}}};
  return cases;
}

CONFORMANCE_TEST(WinogradShapes) {
  for (size_t i = 0; i < Cases().size(); ++i) {
    for (int variant = 0; variant < 3; ++variant) {
      if (variant != 0 && !HasTurn(i + variant)) continue;
      SCOPED_TRACE(absl::StrCat("case ", i, " variant ", variant));
      FuncBuilder b;
      Value y = Convolve(b, Cases()[i]);
      if (variant == 1) {
        y = b.Max(b.Add(y, b.Parameter(Of(DType::kF32, {Cases()[i].out}))), b.FullLike(y, 0));
      }
      if (variant == 2) y = b.Add(b.Mul(y, b.Parameter(y.shape())), b.Parameter(y.shape()));
      b.Return({y});
      Check(b, Tolerance::Relative(1e-6));
    }
  }
}

// Sums that round: of hundreds of products, within some units in the last place of the largest.
CONFORMANCE_TEST(WinogradRounds) {
  for (const Case& c :
       {Case{1, 14, 14, 256, 64, {1, 1}, {1, 1}}, Case{1, 28, 28, 64, 64, {1, 1}, {1, 1}}}) {
    FuncBuilder b;
    b.Return({Convolve(b, c)});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    Check(**graph, NormalInputs(**graph), Tolerance::Relative(1e-6));
  }
}

// A value that is not finite, or sums of neighbours that overflow, must not reach results whose own
// 3x3 inputs it is not among: transformed inputs mix 4x4.
CONFORMANCE_TEST(WinogradKeepsSpecialValuesInPlace) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kHuge = 3e38F;
  for (const Ints& low : {Ints{1, 1}, Ints{0, 0}}) {
    for (const bool epilogue : {false, true}) {
      const Case c = {2, 13, 14, 32, 48, low, low};
      FuncBuilder b;
      Value y = Convolve(b, c);
      // The residual's memory may be the result's.
      if (epilogue) y = b.Max(b.Add(y, b.Parameter(y.shape())), b.FullLike(y, 0));
      b.Return({y});
      auto graph = b.Build();
      ASSERT_TRUE(graph.ok()) << graph.status();
      for (const float special : {kInfinity, -kInfinity, kNan, kHuge}) {
        SCOPED_TRACE(absl::StrCat("of ", special));
        std::vector<Literal> inputs = NormalInputs(**graph);
        float* const x = inputs[0].mutable_data<float>();
        float* const w = inputs[1].mutable_data<float>();
        if (special == kHuge) {
          for (int64_t i = 0; i < inputs[1].num_elements(); ++i) w[i] *= 1e-4F;
        }
        auto at = [&](int64_t image, int64_t row, int64_t column, int64_t channel) -> float& {
          return x[((image * c.height.value() + row) * c.width.value() + column) * c.in + channel];
        };
        at(0, 0, 0, 3) = special;
        at(0, 6, 7, 31) = special;
        at(0, 6, 9, 31) = -special;
        at(1, 12, 13, 0) = special;
        auto want = reference::Evaluate(**graph, inputs);
        ASSERT_TRUE(want.ok()) << want.status();
        int64_t finite = 0;
        for (int64_t i = 0; i < want->at(0).num_elements(); ++i) {
          finite += static_cast<int64_t>(std::isfinite(want->at(0).data<float>()[i]));
        }
        ASSERT_GT(finite, want->at(0).num_elements() / 2);
        Check(**graph, inputs, Tolerance::Relative(1e-6));
      }
    }
  }
}

// Code for any number of images, and for images of any size, returns the bits of code for one set
// of sizes where that is Winograd's, too; direct sums would not.
CONFORMANCE_TEST(WinogradOfUnknownSizes) {
  const Dim n = Dim::Symbol("n"), m = Dim::Symbol("m");
  struct Sizes {
    Case c;
    std::vector<SizeValues> equal, others;
  };
  const std::vector<Sizes> cases = {
      {{n, 14, 14, 32, 48, {1, 1}, {1, 1}}, {{{"n", 1}}, {{"n", 3}}, {{"n", 21}}}, {{{"n", 0}}}},
      {{n, 13, 11, 64, 33, {1, 1}, {0, 2}}, {{{"n", 1}}, {{"n", 4}}}, {{{"n", 0}}}},
      {{1, m, m, 32, 48, {1, 1}, {1, 1}}, {{{"m", 14}}, {{"m", 45}}}, {{{"m", 0}}, {{"m", 1}}}},
      {{n, m, 15, 64, 32, {0, 1}, {1, 0}},
       {{{"n", 2}, {"m", 7}}, {{"n", 3}, {"m", 16}}},
       {{{"n", 5}, {"m", 2}}, {{"n", 1}, {"m", 1}}, {{"n", 0}, {"m", 3}}}}};
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(absl::StrCat("case ", i));
    FuncBuilder b;
    Value y = Convolve(b, cases[i].c);
    b.Return({b.Max(b.Add(y, b.Parameter(y.shape())), b.FullLike(y, 0))});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    CompileOptions options;
    options.must_be_symbolic = true;
    for (const auto& sizes : {cases[i].equal, cases[i].others}) {
      CheckSizes(**graph, sizes, Tolerance::Relative(1e-6), options);
    }
    if (is_device()) continue;  // its kernels run on its own streams alone
    KernelRunner runner(&CompilerFor(/*fuse=*/true), CreateTested(GetParam(), {}));
    const absl::Status status = runner.Compile(**graph);
    ASSERT_TRUE(status.ok()) << status;
    for (const SizeValues& values : cases[i].equal) {
      const std::unique_ptr<ir::Graph> fixed = WithSizes(**graph, values);
      const std::vector<Literal> inputs = NormalInputs(*fixed);
      auto want = CompileAndRun(*fixed, inputs);
      ASSERT_TRUE(want.ok()) << want.status();
      auto got = runner.Run(values, inputs);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(Difference(got->at(0), want->at(0), Tolerance::Exact()), "");
    }
  }
}

}  // namespace
}  // namespace tektite::testing
