// Inputs whose values make the code: known from constants and shapes, or the op is left out.
#include "tests/clustering/testing.h"

namespace tektite::clustering {
namespace {

TEST(CompileTime, ConstantsAreKnown) {
  EXPECT_EQ(Clusters(Input("x") + Ints("axes", {0, 1}) + Node("a", "Exp", {"x"}) +
                     Node("b", "Sum", {"a", "axes"})),
            "axes a b");
}

TEST(CompileTime, ArgumentsAreNot) {
  const std::string graph = Input("x") + Input("axes") + Node("a", "Exp", {"x"}) +
                            Node("b", "Neg", {"a"}) + Node("c", "Sum", {"b", "axes"}) +
                            Node("d", "Exp", {"c"}) + Node("e", "Neg", {"d"});
  EXPECT_EQ(WhyNot(graph, "c"), "NOT_COMPILE_TIME");
  EXPECT_EQ(Clusters(graph), "a b | d e");
}

TEST(CompileTime, ShapeArithmeticIsKnown) {
  // reshape(x, [shape(x)[0] * 2, -1])
  EXPECT_EQ(Clusters(Input("x") + Node("exp", "Exp", {"x"}) + Node("shape", "Shape", {"exp"}) +
                     Ints("zero", {0}) + Ints("one", {1}) + Ints("minus", {-1}) +
                     Node("n", "StridedSlice", {"shape", "zero", "one", "one"}) +
                     Node("n2", "Mul", {"n", "one"}) + Node("dims", "Pack", {"n2", "minus"}) +
                     Node("y", "Reshape", {"exp", "dims"}) + Node("z", "Neg", {"y"})),
            "exp shape zero one minus n n2 dims y z");
}

TEST(CompileTime, ArithmeticOnDataIsNot) {
  const std::string graph = Input("x") + Input("n") + Ints("minus", {-1}) +
                            Node("exp", "Exp", {"x"}) + Node("dims", "Pack", {"n", "minus"}) +
                            Node("y", "Reshape", {"exp", "dims"});
  EXPECT_EQ(WhyNot(graph, "y"), "NOT_COMPILE_TIME");
}

TEST(CompileTime, TheWholeWayHasToBeInTheCluster) {
  // The shape is packed before the host runs, and used after: what arrives has no known value.
  const std::string graph = Input("x") + Node("exp", "Exp", {"x"}) + Node("neg", "Neg", {"exp"}) +
                            Node("shape", "Shape", {"neg"}) + Ints("one", {1}) +
                            Node("dims", "Mul", {"shape", "one"}) +
                            Node("host", "PyFunc", {"neg", "dims"}) + Node("a", "Exp", {"host"}) +
                            Node("b", "Reshape", {"a", "dims"}) + Node("c", "Neg", {"a"});
  EXPECT_EQ(WhyNot(graph, "b"), "NOT_COMPILE_TIME");
  EXPECT_THAT(Clusters(graph), ::testing::HasSubstr("| a c"));
}

TEST(CompileTime, CountsFromTheEndWhereTheTableDoes) {
  // ConcatV2's axis is its last input.
  EXPECT_EQ(Clusters(Input("x") + Ints("axis", {0}) + Node("a", "Exp", {"x"}) +
                     Node("b", "ConcatV2", {"a", "x", "axis"})),
            "axis a b");
  EXPECT_EQ(WhyNot(Input("x") + Input("axis") + Node("a", "ConcatV2", {"x", "x", "axis"}), "a"),
            "NOT_COMPILE_TIME");
}

}  // namespace
}  // namespace tektite::clustering
