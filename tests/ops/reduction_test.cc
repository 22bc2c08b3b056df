// Values of reductions, windows, contractions and normalization.
#include "gtest/gtest.h"
#include "tests/ops/run_op.h"

namespace tektite::testing {
namespace {

const char kMatrix[] = "f32[2,3]{1, 2, 3, 4, 5, 6}";

TEST(Reduce, NamedReducers) {
  auto reduce = [](const char* x, const char* dimensions, const char* reducer) {
    return RunOp("reduce", {x},
                 std::string("dimensions = [") + dimensions + "], reducer = \"" + reducer + "\"");
  };
  EXPECT_EQ(reduce(kMatrix, "1", "add"), "f32[2]{6, 15}");
  EXPECT_EQ(reduce(kMatrix, "0", "mul"), "f32[3]{4, 10, 18}");
  EXPECT_EQ(reduce(kMatrix, "0, 1", "max"), "f32[]{6}");
  EXPECT_EQ(reduce(kMatrix, "", "max"), "f32[2,3]{1, 2, 3, 4, 5, 6}");
  EXPECT_EQ(reduce("f32[3]{1, nan, 3}", "0", "min"), "f32[]{nan}");
  EXPECT_EQ(reduce("f32[2,0]{}", "1", "add"), "f32[2]{0, 0}");
  EXPECT_EQ(reduce("f32[2,0]{}", "1", "max"), "f32[2]{-inf, -inf}");
  EXPECT_EQ(reduce("s8[0]{}", "0", "min"), "s8[]{127}");
  EXPECT_EQ(reduce("f32[0,2]{}", "1", "mul"), "f32[0]{}");
  EXPECT_EQ(reduce("bool[3]{true, false, true}", "0", "and"), "bool[]{false}");
  EXPECT_EQ(reduce("bool[3]{true, false, true}", "0", "or"), "bool[]{true}");
  EXPECT_EQ(reduce("u8[2]{12, 10}", "0", "and"), "u8[]{8}");
  EXPECT_EQ(reduce("s8[3]{127, 1, 1}", "0", "add"), "s8[]{-127}");
  // Accumulated in double, rounded once.
  EXPECT_EQ(reduce("f32[3]{16777216, 1, 1}", "0", "add"), "f32[]{16777218}");
  EXPECT_EQ(reduce("f16[3]{60000, 60000, -60000}", "0", "add"), "f16[]{60000}");
}

TEST(Reduce, RegionFindsPlaceOfMaximum) {
  EXPECT_EQ(RunOp("reduce", {kMatrix, "s32[2,3]{0, 1, 2, 0, 1, 2}", "f32[]{-inf}", "s32[]{-1}"},
                  "dimensions = [1]", R"(
      graph @arg_max(%a: f32[], %i: s32[], %b: f32[], %j: s32[]) -> (f32[], s32[]) {
        %4: bool[] = compare(%a, %b) {direction = "ge"}
        %5: f32[] = select(%4, %a, %b)
        %6: s32[] = select(%4, %i, %j)
        return %5, %6
      })"),
            "f32[2]{3, 6} s32[2]{2, 2}");
}

TEST(ReduceWindow, PadsWithTheIdentity) {
  EXPECT_EQ(RunOp("reduce_window", {"f32[4]{1, 2, 3, 4}"},
                  "window = [2], strides = [2], reducer = \"add\""),
            "f32[2]{3, 7}");
  EXPECT_EQ(RunOp("reduce_window", {"f32[3]{-1, -2, -3}"},
                  "window = [3], low = [1], high = [1], reducer = \"max\""),
            "f32[3]{-1, -1, -2}");
  EXPECT_EQ(RunOp("reduce_window", {"f32[4]{1, 2, 3, 4}"},
                  "window = [2], window_dilation = [2], reducer = \"add\""),
            "f32[2]{4, 6}");
  EXPECT_EQ(RunOp("reduce_window", {"f32[2]{1, 2}"},
                  "window = [2], lhs_dilation = [2], reducer = \"add\""),
            "f32[2]{1, 2}");
  EXPECT_EQ(RunOp("reduce_window", {"f32[0]{}"}, "window = [1], reducer = \"add\""), "f32[0]{}");
}

TEST(SelectAndScatter, IsTheGradientOfMaxPooling) {
  EXPECT_EQ(RunOp("select_and_scatter", {"f32[5]{1, 3, 2, 2, 5}", "f32[2]{10, 20}"},
                  "window = [3], strides = [2]"),
            "f32[5]{0, 10, 0, 0, 20}");
  // Equal elements: the first one.  Padding is never chosen.
  EXPECT_EQ(
      RunOp("select_and_scatter", {"f32[2]{-1, -1}", "f32[2]{1, 2}"}, "window = [2], low = [1]"),
      "f32[2]{3, 0}");
}

TEST(Cumulative, ForwardReverseExclusive) {
  auto sum = [](const char* flags) {
    return RunOp("cumulative", {kMatrix},
                 std::string("dimension = 1, reducer = \"add\", ") + flags);
  };
  EXPECT_EQ(sum("exclusive = false, reverse = false"), "f32[2,3]{1, 3, 6, 4, 9, 15}");
  EXPECT_EQ(sum("exclusive = true, reverse = false"), "f32[2,3]{0, 1, 3, 0, 4, 9}");
  EXPECT_EQ(sum("exclusive = false, reverse = true"), "f32[2,3]{6, 5, 3, 15, 11, 6}");
  EXPECT_EQ(sum("exclusive = true, reverse = true"), "f32[2,3]{5, 3, 0, 11, 6, 0}");
  EXPECT_EQ(RunOp("cumulative", {"s32[3]{2, 3, 4}"}, "dimension = 0, reducer = \"mul\""),
            "s32[3]{2, 6, 24}");
  EXPECT_EQ(RunOp("cumulative", {"s32[0]{}"}, "dimension = 0, reducer = \"max\""), "s32[0]{}");
}

TEST(DotGeneral, MatrixVectorBatchOuter) {
  EXPECT_EQ(RunOp("dot_general", {kMatrix, "f32[3,2]{1, 0, 0, 1, 1, 1}"},
                  "lhs_contracting = [1], rhs_contracting = [0]"),
            "f32[2,2]{4, 5, 10, 11}");
  EXPECT_EQ(RunOp("dot_general", {"f32[2,1,2]{1, 2, 3, 4}", "f32[2,1,2]{1, 1, 2, 2}"},
                  "lhs_batch = [0], rhs_batch = [0], lhs_contracting = [2], rhs_contracting = [2]"),
            "f32[2,1,1]{3, 14}");
  EXPECT_EQ(RunOp("dot_general", {"s8[2]{100, 2}", "s8[1]{2}"}), "s8[2,1]{-56, 4}");
  EXPECT_EQ(RunOp("dot_general", {"f32[2,0]{}", "f32[0,2]{}"},
                  "lhs_contracting = [1], rhs_contracting = [0]"),
            "f32[2,2]{0, 0, 0, 0}");
  EXPECT_EQ(RunOp("dot_general", {"f32[1]{nan}", "f32[1]{0}"},
                  "lhs_contracting = [0], rhs_contracting = [0]"),
            "f32[]{nan}");
}

constexpr char kConv1d[] =
    "input_layout = \"b0f\", kernel_layout = \"0io\", output_layout = \"b0f\"";

TEST(Convolution, OneDimension) {
  const std::string attrs = kConv1d;
  const char x[] = "f32[1,4,1]{1, 2, 3, 4}", k[] = "f32[2,1,1]{1, 10}";
  EXPECT_EQ(RunOp("convolution", {x, k}, attrs), "f32[1,3,1]{21, 32, 43}");
  EXPECT_EQ(RunOp("convolution", {x, k}, attrs + ", strides = [2], high = [1]"),
            "f32[1,2,1]{21, 43}");
  EXPECT_EQ(RunOp("convolution", {x, k}, attrs + ", low = [1]"), "f32[1,4,1]{10, 21, 32, 43}");
  EXPECT_EQ(RunOp("convolution", {x, k}, attrs + ", rhs_dilation = [2]"), "f32[1,2,1]{31, 42}");
  EXPECT_EQ(RunOp("convolution", {"f32[1,2,1]{1, 2}", k}, attrs + ", lhs_dilation = [2]"),
            "f32[1,2,1]{1, 20}");
  EXPECT_EQ(RunOp("convolution", {"f32[0,4,1]{}", k}, attrs), "f32[0,3,1]{}");
}

TEST(Convolution, Groups) {
  const std::string attrs = kConv1d;
  // Depthwise: each feature with a kernel of its own.
  EXPECT_EQ(RunOp("convolution", {"f32[1,2,2]{1, 2, 3, 4}", "f32[1,1,2]{10, 100}"},
                  attrs + ", feature_group_count = 2"),
            "f32[1,2,2]{10, 200, 30, 400}");
  // Batch groups: output feature 0 reads batch 0, feature 1 reads batch 1.
  EXPECT_EQ(RunOp("convolution", {"f32[2,2,1]{1, 2, 3, 4}", "f32[1,1,2]{10, 100}"},
                  attrs + ", batch_group_count = 2"),
            "f32[1,2,2]{10, 300, 20, 400}");
}

TEST(Convolution, LayoutsOnlyMoveDimensions) {
  // 2x2 image, two features, NCHW with OIHW kernels.
  EXPECT_EQ(RunOp("convolution",
                  {"f32[1,2,2,2]{1, 2, 3, 4, 5, 6, 7, 8}", "f32[1,2,2,2]{1, 0, 0, 1, 2, 0, 0, 2}"},
                  "input_layout = \"bf01\", kernel_layout = \"oi01\", output_layout = \"bf01\""),
            "f32[1,1,1,1]{31}");
  // Without spatial dimensions: a product of matrices.
  EXPECT_EQ(RunOp("convolution", {"f32[1,2]{1, 2}", "f32[2,1]{3, 4}"},
                  "input_layout = \"bf\", kernel_layout = \"io\", output_layout = \"bf\""),
            "f32[1,1]{11}");
}

}  // namespace
}  // namespace tektite::testing
