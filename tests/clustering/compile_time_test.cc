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

// x and a place that is data; then nodes that may need it.
std::string AtPlace(absl::string_view nodes) {
  return absl::StrCat(Input("x"), Node("i", "Placeholder", {}, Attr("dtype", "type: DT_INT32")),
                      Ints("zero", {0}), Ints("one", {1}), Ints("three", {3}), Ints("two", {2, 2}),
                      Ints("rest", {2, -1}), Ints("ones", {1, 1}),
                      Node("next", "AddV2", {"i", "three"}), Node("a", "Exp", {"x"}), nodes);
}

// The place was enough of a reason, whatever the size.
TEST(CompileTime, PlacesMayBeDataWhereSizesAreKnown) {
  const auto why = [](absl::string_view nodes) { return WhyNot(AtPlace(nodes), "y"); };
  const std::string begin = Node("begin", "Pack", {"i", "zero"});
  const std::string slice = Node("y", "Slice", {"a", "begin", "two"});
  EXPECT_EQ(why(begin + slice + Node("z", "Neg", {"y"})), "NONE");
  // What is left behind the place is data; behind a place that is known it is not.
  EXPECT_EQ(why(Node("begin", "Pack", {"zero", "i"}) + Node("y", "Slice", {"a", "begin", "rest"})),
            "NOT_COMPILE_TIME");
  EXPECT_EQ(why(begin + Node("y", "Slice", {"a", "begin", "rest"}) + Node("z", "Neg", {"y"})),
            "NONE");
  EXPECT_EQ(why(Node("y", "Slice", {"a", "two", "i"})), "NOT_COMPILE_TIME");
  const auto strided = [&](absl::string_view end, absl::string_view attrs = "") {
    return why(absl::StrCat(begin, end,
                            Node("y", "StridedSlice", {"a", "begin", "end", "ones"}, attrs),
                            Node("z", "Neg", {"y"})));
  };
  EXPECT_EQ(strided(Node("end", "Pack", {"next", "one"})), "NONE");
  EXPECT_EQ(strided(Node("end", "Pack", {"zero", "one"})), "NOT_COMPILE_TIME");
  EXPECT_EQ(strided(Node("end", "Pack", {"zero", "one"}), Attr("shrink_axis_mask", "i: 1")),
            "NONE");
  EXPECT_EQ(strided(Node("end", "Pack", {"next", "one"}), Attr("begin_mask", "i: 1")),
            "NOT_COMPILE_TIME");
  // Sums of vectors, twice the place, and one place less another.
  EXPECT_EQ(strided(Node("end", "AddV2", {"begin", "two"})), "NONE");
  EXPECT_EQ(
      strided(Node("twice", "Mul", {"i", "one"}) + Node("sum", "Sub", {"next", "i"}) +
              Node("there", "AddV2", {"sum", "twice"}) + Node("end", "Pack", {"there", "one"})),
      "NONE");
  EXPECT_EQ(strided(Node("twice", "AddV2", {"i", "i"}) + Node("end", "Pack", {"twice", "one"})),
            "NOT_COMPILE_TIME");
  // The host computes the end: nothing is known of it.
  EXPECT_EQ(strided(Node("host", "PyFunc", {"next"}) + Node("end", "Pack", {"host", "one"})),
            "NOT_COMPILE_TIME");
}

TEST(CompileTime, PaddingAndRangesMayBeginAtData) {
  const auto why = [](absl::string_view nodes) { return WhyNot(AtPlace(nodes), "y"); };
  const std::string before =
      Node("before", "Pack", {"i", "left"}) + Node("left", "Sub", {"three", "i"});
  EXPECT_EQ(why(before + Node("pads", "Pack", {"before", "two"}) + Node("y", "Pad", {"a", "pads"}) +
                Node("z", "Neg", {"y"})),
            "NONE");
  EXPECT_EQ(why(Node("before", "Pack", {"i", "i"}) + Node("pads", "Pack", {"before", "two"}) +
                Node("y", "Pad", {"a", "pads"})),
            "NOT_COMPILE_TIME");
  const auto range = [&](absl::string_view limit, absl::string_view type) {
    return why(absl::StrCat(Node("y", "Range", {"i", limit, "one"}, Attr("Tidx", type)),
                            Node("z", "Exp", {"y"})));
  };
  EXPECT_EQ(range("next", "type: DT_INT32"), "NONE");
  EXPECT_EQ(range("three", "type: DT_INT32"), "NOT_COMPILE_TIME");
  EXPECT_EQ(range("next", "type: DT_FLOAT"), "NOT_COMPILE_TIME");
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
