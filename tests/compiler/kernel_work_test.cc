// Arithmetic and memory traffic of kernels, counted by hand.
#include "jit/compiler/kernel_work.h"

#include "gtest/gtest.h"

namespace tektite::compiler {
namespace {

std::vector<KernelWork> WorkOf(const char* text) {
  auto graph = ir::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return WorkOfKernels(**graph);
}

TEST(KernelWork, DotCountsOperationsAndTellsWeightsFromActivations) {
  const auto work = WorkOf(R"(
graph @f(%x: f32[4,8], %w: f32[8,20] {weight = true}) -> (f32[4,20]) {
  %2: f32[8,20] = fusion(%w) {kind = loop}
    graph @fused(%w: f32[8,20]) -> (f32[8,20]) {
      %1: f32[8,20] = neg(%w)
      return %1
    }
  %3: f32[4,20] = fusion(%x, %2) {kind = contraction}
    graph @fused(%x: f32[4,8], %w: f32[8,20]) -> (f32[4,20]) {
      %2: f32[4,20] = dot_general(%x, %w) {lhs_contracting = [1], rhs_contracting = [0]}
      %3: f32[4,20] = tanh(%2)
      return %3
    }
  return %3
}
)");
  ASSERT_EQ(work.size(), 2);
  EXPECT_EQ(work[0].flops, 0);
  EXPECT_EQ(work[0].weight_bytes, 8 * 20 * 4);
  EXPECT_EQ(work[0].shape, "8x20");
  EXPECT_EQ(work[1].shape, "4x8x20");
  EXPECT_EQ(work[1].flops, 2 * 4 * 8 * 20);
  EXPECT_EQ(work[1].bytes, (4 * 8 + 8 * 20 + 4 * 20) * 4);
  EXPECT_EQ(work[1].weight_bytes, 8 * 20 * 4);  // what is made of a weight is one
}

TEST(KernelWork, ExponentialsCountBesideProductsOnly) {
  const auto work = WorkOf(R"(
graph @f(%x: f32[4,8], %w: f32[8,20]) -> (f32[4,20]) {
  %2: f32[4,8] = fusion(%x) {kind = loop}
    graph @fused(%x: f32[4,8]) -> (f32[4,8]) {
      %1: f32[4,8] = exp(%x)
      return %1
    }
  %3: f32[4,20] = fusion(%2, %w) {kind = contraction}
    graph @fused(%x: f32[4,8], %w: f32[8,20]) -> (f32[4,20]) {
      %2: f32[4,20] = dot_general(%x, %w) {lhs_contracting = [1], rhs_contracting = [0]}
      %3: f32[4,20] = exp(%2)
      return %3
    }
  return %3
}
)");
  ASSERT_EQ(work.size(), 2);
  EXPECT_EQ(work[0].flops, 0);
  EXPECT_EQ(work[1].flops, 2 * 4 * 8 * 20 + 14 * 4 * 20);
}

TEST(KernelWork, GroupedConvolutionMultipliesWithinItsGroup) {
  const auto work = WorkOf(R"(
graph @f(%x: f32[1,6,6,8], %w: f32[3,3,1,8]) -> (f32[1,4,4,8]) {
  %2: f32[1,4,4,8] = fusion(%x, %w) {kind = contraction}
    graph @fused(%x: f32[1,6,6,8], %w: f32[3,3,1,8]) -> (f32[1,4,4,8]) {
      %2: f32[1,4,4,8] = convolution(%x, %w) {feature_group_count = 8, high = [0, 0], input_layout = "b01f", kernel_layout = "01io", low = [0, 0], output_layout = "b01f", strides = [1, 1]}
      return %2
    }
  return %2
}
)");
  ASSERT_EQ(work.size(), 1);
  EXPECT_EQ(work[0].flops, 2 * 4 * 4 * 8 * 9);
  EXPECT_EQ(work[0].shape, "6x6x8 3x3/1 each");
}

TEST(KernelWork, TableThatIsGatheredFromCountsItsRowsOnly) {
  const auto work = WorkOf(R"(
graph @f(%x: f32[1000,8], %i: s32[2,1]) -> (f32[2,8]) {
  %2: f32[2,8] = fusion(%x, %i) {kind = loop}
    graph @fused(%x: f32[1000,8], %i: s32[2,1]) -> (f32[2,8]) {
      %2: f32[2,8] = gather(%x, %i) {collapsed_slice_dims = [0], index_vector_dim = 1, offset_dims = [1], slice_sizes = (1, 8), start_index_map = [0]}
      return %2
    }
  return %2
}
)");
  ASSERT_EQ(work.size(), 1);
  EXPECT_EQ(work[0].bytes, (2 * 8 + 2 + 2 * 8) * 4);
}

}  // namespace
}  // namespace tektite::compiler
