#include "jit/ops/builder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/reference/interpreter.h"
#include "tests/ops/run_op.h"

namespace tektite::ops {
namespace {

using tektite::testing::ToText;
using ::testing::HasSubstr;

Dim N() { return Dim::Symbol("n"); }
Dim M() { return Dim::Symbol("m"); }
Shape F32(std::initializer_list<Dim> dims) { return Shape(DType::kF32, dims); }

std::string GuardText(const Graph& graph) {
  std::string text;
  for (const ir::Guard& g : graph.guards())
    text += g.lhs.ToString() + "==" + g.rhs.ToString() + ";";
  return text;
}

TEST(Builder, SoftmaxOfTheHeader) {
  FuncBuilder b("softmax");
  Value x = b.Parameter(F32({N(), 3}), "x");
  Value max = b.Reduce(x, {1}, "max");
  Value e = b.Exp(b.Sub(x, b.BroadcastInDim(max, x.shape().dims(), {0})));
  Value sum = b.Reduce(e, {1}, "add");
  b.Return({b.Div(e, b.BroadcastInDim(sum, x.shape().dims(), {0}))});
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_TRUE(VerifyGraph(**graph).ok()) << VerifyGraph(**graph);
  EXPECT_EQ(GuardText(**graph), "");
  auto result =
      reference::Evaluate(**graph, {Literal::FromVector<float>({2, 3}, {0, 0, 0, 5, 1000, -1})});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(ToText(*result), "f32[2,3]{0.333333343, 0.333333343, 0.333333343, 0, 1, 0}");
}

TEST(Builder, BroadcastsAsNumPyAndRecordsWhatItAssumes) {
  struct Case {
    Shape a, b;
    const char *result, *guards;
  };
  for (const Case& c : std::vector<Case>{
           {F32({N(), 3}), F32({3}), "f32[n,3]", ""},
           {F32({1, 3}), F32({N(), 1}), "f32[n,3]", ""},
           {F32({}), F32({N()}), "f32[n]", ""},
           {F32({N()}), F32({M()}), "f32[n]", "n==m;"},
           {F32({N()}), F32({4}), "f32[4]", "n==4;"},
           {F32({4}), F32({N()}), "f32[4]", "4==n;"},
           {F32({0}), F32({1}), "f32[0]", ""},
           {F32({N(), N()}), F32({M(), M()}), "f32[n,n]", "n==m;"},
       }) {
    FuncBuilder b;
    Value sum = b.Add(b.Parameter(c.a), b.Parameter(c.b));
    ASSERT_TRUE(b.status().ok()) << b.status();
    EXPECT_EQ(sum.shape().ToString(), c.result);
    b.Return({sum});
    auto graph = b.Build();
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(GuardText(**graph), c.guards);
    EXPECT_TRUE(VerifyGraph(**graph).ok()) << VerifyGraph(**graph) << ir::Print(**graph);
  }
  FuncBuilder b;
  b.Add(b.Parameter(F32({3})), b.Parameter(F32({4})));
  EXPECT_EQ(b.status().message(), "add: f32[3] and f32[4] do not broadcast");
}

TEST(Builder, StrictOpsRecordGuardsToo) {
  FuncBuilder b;
  b.MatMul(b.Parameter(F32({2, N()})), b.Parameter(F32({M(), 3})));
  EXPECT_EQ(GuardText(*b.graph()), "n==m;");
  b.Reshape(b.Parameter(F32({N(), 4})), {M()});
  EXPECT_EQ(GuardText(*b.graph()), "n==m;4*n==m;");
}

TEST(Builder, KeepsTheFirstErrorThroughAChain) {
  FuncBuilder b;
  b.set_name("layer/bad");
  Value x = b.Parameter(F32({2, 3}), "x");
  Value bad = b.MatMul(x, x);
  EXPECT_FALSE(bad);
  // Everything after it is harmless, also where code looks at shapes.
  Value y = b.Add(bad, b.Reshape(bad, bad.shape().dims()));
  y = b.ReduceKeep(b.SliceDim(y, 0, 0, 1), {0}, "add");
  y = b.Convolution(b.BroadcastTo(y, {2}), b.FullLike(y, 1), {});
  y = b.MatMul(y, y);
  std::vector<Value> many = b.AddMulti(Op::kTopK, {y});
  EXPECT_FALSE(many[1]);
  b.Return({y});
  EXPECT_EQ(b.Build().status().message(),
            "dot_general 'layer/bad': contracting sizes differ, lhs[1] = 3 and rhs[0] = 2");
}

TEST(Builder, CallsThatChangeNothingGiveTheirOperand) {
  FuncBuilder b;
  Value x = b.Parameter(F32({N(), 3}), "x");
  EXPECT_EQ(b.Convert(x, DType::kF32), x);
  EXPECT_EQ(b.Reshape(x, {N(), 3}), x);
  EXPECT_EQ(b.BroadcastTo(x, {N(), 3}), x);
  EXPECT_EQ(b.Reduce(x, {}, "add"), x);
  EXPECT_NE(b.BroadcastTo(x, {2, N(), 3}), x);
  EXPECT_TRUE(b.status().ok());
}

TEST(Builder, ComputesWhatTheCallsSay) {
  FuncBuilder b;
  Value x = b.Constant(Literal::FromVector<float>({2, 2}, {1, 2, 3, 4}));
  WindowDims window;
  window.window = {1, 2};
  FuncBuilder::ConvOptions conv;
  conv.input_layout = conv.output_layout = "bf";
  conv.kernel_layout = "io";
  Value one = b.Scalar(DType::kS32, 1);
  Value zero = b.Scalar(DType::kS32, 0);
  b.Return({b.ReduceKeep(x, {1}, "add"), b.MatMul(x, x, true, false), b.MatMul(x, x, false, true),
            b.ReduceWindow(x, "max", window), b.Cumulative(x, 1, "add", true, false),
            b.Convolution(x, x, conv), b.SliceDim(x, 1, 1, 2), b.Concatenate({x, x}, 1),
            b.Pad(x, b.Scalar(DType::kF32, 9), {0, 0}, {0, 1}), b.Reverse(x, {0}),
            b.DynamicSlice(x, {one, zero}, {1, 2}),
            b.DynamicUpdateSlice(x, b.Full(DType::kF32, 7, {1, 1}), {one, zero}),
            b.Clamp(b.FullLike(x, 2), x, b.FullLike(x, 3)), b.Iota(DType::kS8, {3}, 0),
            b.SelectImplicit(b.CompareImplicit(x, b.Scalar(DType::kF32, 2), "gt"), x,
                             b.Scalar(DType::kF32, 0)),
            b.Transpose(x, {1, 0})});
  auto graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto results = reference::Evaluate(**graph, {});
  ASSERT_TRUE(results.ok()) << results.status();
  const char* expected[] = {"f32[2,1]{3, 7}",
                            "f32[2,2]{10, 14, 14, 20}",
                            "f32[2,2]{5, 11, 11, 25}",
                            "f32[2,1]{2, 4}",
                            "f32[2,2]{0, 1, 0, 3}",
                            "f32[2,2]{7, 10, 15, 22}",
                            "f32[2,1]{2, 4}",
                            "f32[2,4]{1, 2, 1, 2, 3, 4, 3, 4}",
                            "f32[2,3]{1, 2, 9, 3, 4, 9}",
                            "f32[2,2]{3, 4, 1, 2}",
                            "f32[1,2]{3, 4}",
                            "f32[2,2]{1, 2, 7, 4}",
                            "f32[2,2]{2, 2, 3, 3}",
                            "s8[3]{0, 1, 2}",
                            "f32[2,2]{0, 0, 3, 4}",
                            "f32[2,2]{1, 3, 2, 4}"};
  for (size_t i = 0; i < results->size(); ++i) EXPECT_EQ(ToText((*results)[i]), expected[i]);
}

TEST(Builder, InsertsIntoAGraphSomebodyElseOwns) {
  auto graph = tektite::testing::ParseOrDie(
      "graph @g(%x: f32[2]) -> (f32[2]) { %1: f32[2] = neg(%x) return %1 }");
  Node* neg = graph->NodeList().back();
  FuncBuilder b(graph.get(), neg);
  Value e = b.Exp(graph->parameter(0)->result());
  neg->SetOperand(0, e);
  EXPECT_TRUE(VerifyGraph(*graph).ok()) << VerifyGraph(*graph);
  EXPECT_THAT(ir::Print(*graph), HasSubstr("neg(%1)"));
}

// Six places sorted the pairs for themselves, and those that pack weights and read them must agree.
TEST(DotDims, ContractingPairsInTheOrderOfTheLeftHandSide) {
  auto graph =
      tektite::testing::ParseOrDie(R"(graph @g(%x: f32[2,3,4], %w: f32[4,2,5]) -> (f32[3,5]) {
  %2: f32[3,5] = dot_general(%x, %w) {lhs_contracting = [2, 0], rhs_contracting = [0, 1]}
  return %2
})");
  const DotDims dims = GetDotDimsInOrder(*graph->NodeList().back());
  EXPECT_EQ(dims.lhs_contracting, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(dims.rhs_contracting, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(dims.lhs_free, (std::vector<int64_t>{1}));
}

}  // namespace
}  // namespace tektite::ops
