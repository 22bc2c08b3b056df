// Values of data movement, gather and scatter.
#include "gtest/gtest.h"
#include "tests/ops/run_op.h"

namespace tektite::testing {
namespace {

const char kMatrix[] = "s32[2,3]{1, 2, 3, 4, 5, 6}";

TEST(Movement, Broadcast) {
  EXPECT_EQ(RunOp("broadcast_in_dim", {"f32[]{7}"}, "dimensions = [], shape = (2, 2)"),
            "f32[2,2]{7, 7, 7, 7}");
  EXPECT_EQ(RunOp("broadcast_in_dim", {"s32[2]{1, 2}"}, "dimensions = [0], shape = (2, 2)"),
            "s32[2,2]{1, 1, 2, 2}");
  EXPECT_EQ(RunOp("broadcast_in_dim", {"s32[1,2]{1, 2}"}, "dimensions = [0, 1], shape = (2, 2)"),
            "s32[2,2]{1, 2, 1, 2}");
  EXPECT_EQ(RunOp("broadcast_in_dim", {"s32[1]{1}"}, "dimensions = [0], shape = (0)"), "s32[0]{}");
}

TEST(Movement, ReshapeTransposeReverse) {
  EXPECT_EQ(RunOp("reshape", {kMatrix}, "shape = (3, 1, 2)"), "s32[3,1,2]{1, 2, 3, 4, 5, 6}");
  EXPECT_EQ(RunOp("transpose", {kMatrix}, "permutation = [1, 0]"), "s32[3,2]{1, 4, 2, 5, 3, 6}");
  EXPECT_EQ(RunOp("transpose", {"f16[]{3}"}, "permutation = []"), "f16[]{3}");
  EXPECT_EQ(RunOp("reverse", {kMatrix}, "dimensions = [1]"), "s32[2,3]{3, 2, 1, 6, 5, 4}");
  EXPECT_EQ(RunOp("reverse", {"s32[0,2]{}"}, "dimensions = [0, 1]"), "s32[0,2]{}");
}

TEST(Movement, SliceConcatenatePad) {
  EXPECT_EQ(RunOp("slice", {kMatrix}, "starts = (0, 0), limits = (2, 3), strides = [1, 2]"),
            "s32[2,2]{1, 3, 4, 6}");
  EXPECT_EQ(RunOp("slice", {kMatrix}, "starts = (1, 1), limits = (1, 2)"), "s32[0,1]{}");
  EXPECT_EQ(RunOp("concatenate", {kMatrix, "s32[2,1]{7, 8}"}, "dimension = 1"),
            "s32[2,4]{1, 2, 3, 7, 4, 5, 6, 8}");
  EXPECT_EQ(RunOp("concatenate", {"bool[0]{}", "bool[1]{true}"}, "dimension = 0"), "bool[1]{true}");
  EXPECT_EQ(RunOp("pad", {"f32[2]{1, 2}", "f32[]{9}"}, "low = [1], high = [2], interior = [1]"),
            "f32[6]{9, 1, 9, 2, 9, 9}");
  EXPECT_EQ(RunOp("pad", {"f32[3]{1, 2, 3}", "f32[]{9}"}, "low = [-1], high = [-1]"), "f32[1]{2}");
  EXPECT_EQ(RunOp("pad", {"f32[0]{}", "f32[]{9}"}, "low = [1], high = [0], interior = [3]"),
            "f32[1]{9}");
}

TEST(Movement, IotaAndSize) {
  EXPECT_EQ(RunOp("iota", {}, "dimension = 1, dtype = f16, shape = (2, 2)"),
            "f16[2,2]{0, 1, 0, 1}");
}

TEST(Movement, DynamicStartsAreClamped) {
  EXPECT_EQ(RunOp("dynamic_slice", {kMatrix, "s32[]{1}", "s32[]{2}"}, "sizes = (1, 2)"),
            "s32[1,2]{5, 6}");
  EXPECT_EQ(RunOp("dynamic_slice", {kMatrix, "s64[]{-9}", "s64[]{1}"}, "sizes = (1, 2)"),
            "s32[1,2]{2, 3}");
  EXPECT_EQ(RunOp("dynamic_update_slice", {kMatrix, "s32[1,2]{8, 9}", "s32[]{7}", "s32[]{0}"}),
            "s32[2,3]{1, 2, 3, 8, 9, 6}");
}

TEST(Indexed, GatherRows) {
  const std::string attrs =
      "collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], "
      "slice_sizes = (1, 3), start_index_map = [0]";
  EXPECT_EQ(RunOp("gather", {kMatrix, "s32[3,1]{1, 0, 9}"}, attrs),
            "s32[3,3]{4, 5, 6, 1, 2, 3, 4, 5, 6}");
  EXPECT_EQ(RunOp("gather", {kMatrix, "s64[0,1]{}"}, attrs), "s32[0,3]{}");
}

TEST(Indexed, GatherElementsAndWindows) {
  EXPECT_EQ(RunOp("gather", {kMatrix, "s32[2,2]{0, 2, 1, 0}"},
                  "collapsed_slice_dims = [0, 1], index_vector_dim = 1, offset_dims = [], "
                  "slice_sizes = (1, 1), start_index_map = [0, 1]"),
            "s32[2]{3, 4}");
  // Implicit index vectors of length 1; windows of two columns, before the batch dimension.
  EXPECT_EQ(RunOp("gather", {kMatrix, "s32[2]{0, 5}"},
                  "collapsed_slice_dims = [], index_vector_dim = 1, offset_dims = [0, 1], "
                  "slice_sizes = (2, 2), start_index_map = [1]"),
            "s32[2,2,2]{1, 2, 2, 3, 4, 5, 5, 6}");
}

TEST(Indexed, ScatterAddsReplacesAndSkips) {
  const std::string attrs =
      "collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], "
      "scatter_dims_to_operand_dims = [0], reducer = ";
  EXPECT_EQ(RunOp("scatter",
                  {"f32[3,2]{1, 1, 1, 1, 1, 1}", "s32[4,1]{0, 2, 0, 3}",
                   "f32[4,2]{1, 2, 3, 4, 5, 6, 7, 8}"},
                  attrs + "\"add\""),
            "f32[3,2]{7, 9, 1, 1, 4, 5}");
  EXPECT_EQ(RunOp("scatter", {"s32[2,2]{0, 0, 0, 0}", "s32[2,1]{1, -1}", "s32[2,2]{1, 2, 3, 4}"},
                  attrs + "\"replace\""),
            "s32[2,2]{0, 0, 1, 2}");
  EXPECT_EQ(
      RunOp("scatter", {"f32[2,1]{1, 5}", "s32[2,1]{1, 1}", "f32[2,1]{2, 7}"}, attrs + "\"max\""),
      "f32[2,1]{1, 7}");
}

// The second of two equal indices finds what the first has left; one outside is left out.
TEST(Indexed, UpdateRowsOneAfterTheOther) {
  const std::string rule =
      "graph @f(%w: f32[], %m: f32[], %u: f32[], %rate: f32[]) -> (f32[], f32[]) {\n"
      "  %4: f32[] = add(%m, %u)\n  %5: f32[] = mul(%rate, %4)\n  %6: f32[] = sub(%w, %5)\n"
      "  return %6, %4\n}";
  EXPECT_EQ(RunOp("update_rows",
                  {"f32[3]{1, 2, 4}", "f32[3]{0, 0, 0}", "s32[4]{0, 2, 0, 3}", "f32[4]{1, 2, 3, 4}",
                   "f32[]{2}"},
                  "", rule),
            "f32[3]{-9, 2, 0} f32[3]{4, 0, 2}");
  EXPECT_EQ(RunOp("update_rows",
                  {"f32[2,2]{1, 2, 3, 4}", "f32[2,2]{0, 0, 0, 0}", "s64[2]{1, -1}",
                   "f32[2,2]{1, 2, 3, 4}", "f32[]{1}"},
                  "", rule),
            "f32[2,2]{1, 2, 2, 2} f32[2,2]{0, 0, 1, 2}");
}

}  // namespace
}  // namespace tektite::testing
