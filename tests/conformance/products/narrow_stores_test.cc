// Kernels of products of bf16 that hand each other bf16 with --f32_products=bf16_stored
// (jit/passes/narrow_stores.cc).
//
// What is stored so is rounded there and nowhere else: results are those of a graph that rounds at
// the same places, and those of the graph itself within the permission.  The graphs' products are
// of bf16 from the start, so that CPUs without instructions for it run the pass, too.
#include "absl/strings/str_cat.h"
#include "tests/conformance/harness.h"
#include "tests/conformance/oracle.h"
#include "tests/conformance/some_targets.h"

namespace tektite::testing {
namespace {

using ir::DType;
using ir::Literal;
using ir::Value;
using ops::FuncBuilder;

class NarrowStores : public ConformanceTest {
 protected:
  NarrowStores() { options_.stores_bf16 = true; }

  // `stored` is `graph` with roundings where its kernels hand on results of products.
  void CheckStored(FuncBuilder& graph, FuncBuilder& stored) {
    const std::vector<Literal> inputs = PlainInputs(*graph.graph(), 1);
    ASSERT_TRUE(graph.status().ok() && stored.status().ok()) << graph.status() << stored.status();
    const auto exact = EvaluateOnce(*graph.graph(), inputs);
    const auto want = EvaluateOnce(*stored.graph(), inputs);
    const auto got = CompileAndRun(*graph.graph(), inputs, options_);
    ASSERT_TRUE(exact.ok() && want.ok() && got.ok())
        << exact.status() << want.status() << got.status();
    for (size_t i = 0; i < want->size(); ++i) {
      SCOPED_TRACE(absl::StrCat("result ", i));
      EXPECT_EQ(Difference((*got)[i], (*want)[i], kSums), "");
      // A test in which nothing is rounded would tell nothing.
      EXPECT_NE(Difference((*want)[i], (*exact)[i], kRoundings), "");
    }
    Check(*graph.graph(), inputs, kPermission, options_);
  }

  static constexpr Tolerance kSums = {0, 1e-5}, kRoundings = {0, 1e-4}, kPermission = {0, 2e-2};
  CompileOptions options_;
};

INSTANTIATE_TEST_SUITE_P(, NarrowStores,
                         ::testing::ValuesIn(CpuTargets(__builtin_cpu_supports("avx512bf16"))),
                         [](const auto& info) { return info.param.name; });

Value Weights(FuncBuilder& b, const std::vector<int64_t>& sizes) {
  const Value w = b.Parameter(Of(DType::kBF16, sizes));
  w.node->attrs().Set(ir::Attr::weight, true);
  return w;
}

// f32 sums of a product or convolution of bf16.
Value WithSumsOfF32(FuncBuilder& b, Value product) {
  ir::Attributes attrs = product.node->attrs();
  attrs.Set(ir::Attr::dtype, DType::kF32);
  return b.AddOne(product.node->op(), product.node->operands(), attrs);
}

Value Rounded(FuncBuilder& b, Value x) {
  return b.Convert(b.Convert(x, DType::kBF16), DType::kF32);
}

// A sum that the next product reads, in bf16, and the next sum, in f32, and whose own sum a
// reduction reads.
void Residual(FuncBuilder& b, int64_t rows, int64_t columns, bool is_stored) {
  const auto stored = [&](Value v) { return is_stored ? Rounded(b, v) : v; };
  const Value x = b.Parameter(Of(DType::kBF16, {rows, columns}));
  const Value first = Weights(b, {columns, columns}), second = Weights(b, {columns, columns});
  const Value before = b.Parameter(Of(DType::kF32, {rows, columns}));
  const Value sum = stored(b.Add(WithSumsOfF32(b, b.MatMul(x, first)), before));
  const Value product = WithSumsOfF32(b, b.MatMul(b.Convert(sum, DType::kBF16), second));
  b.Return({b.Reduce(stored(b.Add(product, sum)), {1}, "max")});
}

TEST_P(NarrowStores, StoredSumsOfResidualProducts) {
  struct Case {
    int64_t rows, columns;
  };
  for (const Case& c : {Case{64, 256}, Case{259, 64}, Case{1000, 33}}) {
    SCOPED_TRACE(absl::StrCat(c.rows, "x", c.columns));
    FuncBuilder graph, stored;
    Residual(graph, c.rows, c.columns, false);
    Residual(stored, c.rows, c.columns, true);
    CheckStored(graph, stored);
    if (HasFatalFailure()) return;
  }
}

// The same of images, whose mean is what the last kernel computes.
void Block(FuncBuilder& b, const std::vector<int64_t>& image, bool is_stored) {
  const auto stored = [&](Value v) { return is_stored ? Rounded(b, v) : v; };
  const int64_t channels = image[3];
  const Value x = b.Parameter(Of(DType::kBF16, image));
  const Value before = b.Parameter(Of(DType::kF32, image));
  FuncBuilder::ConvOptions same;
  same.low = same.high = {1, 1};
  const Value wide = Weights(b, {3, 3, channels, channels});
  const Value narrow = Weights(b, {1, 1, channels, channels});
  const Value zero = b.Full(DType::kF32, 0, before.shape().dims());
  const Value first = WithSumsOfF32(b, b.Convolution(x, wide, same));
  const Value sum = stored(b.Max(b.Add(first, before), zero));
  const Value second = WithSumsOfF32(b, b.Convolution(b.Convert(sum, DType::kBF16), narrow, {}));
  b.Return({b.Reduce(stored(b.Add(second, sum)), {1, 2}, "max")});
}

TEST_P(NarrowStores, StoredSumsOfResidualConvolutions) {
  for (const std::vector<int64_t>& image : {std::vector<int64_t>{1, 16, 16, 64}, {3, 13, 15, 40}}) {
    SCOPED_TRACE(absl::StrCat(image[1], "x", image[2], "x", image[3]));
    FuncBuilder graph, stored;
    Block(graph, image, false);
    Block(stored, image, true);
    CheckStored(graph, stored);
    if (HasFatalFailure()) return;
  }
}

// Too few elements for that, and what the graph returns: results are exact sums.
TEST_P(NarrowStores, SumsThatStayF32) {
  options_.symbolic = false;
  FuncBuilder few;
  Residual(few, 15, 64, false);
  Check(*few.graph(), PlainInputs(*few.graph(), 1), Tolerance::Exact(), options_);
  FuncBuilder b;
  const Value x = b.Parameter(Of(DType::kBF16, {64, 256}));
  const Value y = WithSumsOfF32(b, b.MatMul(x, Weights(b, {256, 256})));
  b.Return({y, b.Reduce(y, {1}, "max")});
  Check(*b.graph(), PlainInputs(*b.graph(), 1), Tolerance::Exact(), options_);
}

}  // namespace
}  // namespace tektite::testing
