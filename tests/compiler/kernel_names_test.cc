// What kernels are called: the layer of their root, and what they compute.
#include "jit/compiler/kernel_names.h"

#include "gtest/gtest.h"

namespace tektite::compiler {
namespace {

TEST(KernelNames, TheLayerIsWhatStandsAroundTheNode) {
  EXPECT_EQ(LayerOf("StatefulPartitionedCall/mobilenet/block_3_expand/convolution"),
            "block_3_expand");
  EXPECT_EQ(LayerOf("bert/layer_0/attention/self/query/MatMul"), "self/query");
  EXPECT_EQ(LayerOf("gradient_tape/model/dense/MatMul"), "dense gradient");
  EXPECT_EQ(LayerOf("dense/MatMul"), "dense");
  EXPECT_EQ(LayerOf("MatMul_1"), "MatMul_1");
  EXPECT_EQ(LayerOf(""), "");
}

KernelName NameOf(const char* text) {
  const auto graph = ir::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  for (const auto& node : (*graph)->nodes()) {
    if (node->op() == ir::Op::kFusion) return NameOfKernel(*node, 3);
  }
  return {};
}

TEST(KernelNames, AConvolutionWithItsWindowAndWhatFollows) {
  const KernelName name = NameOf(R"(
graph @f(%x: f32[1,8,8,4], %w: f32[1,1,4,16], %b: f32[16]) -> (f32[1,8,8,16]) {
  %3: f32[1,8,8,16] = fusion(%x, %w, %b) {kind = contraction} "net/block_3_expand/Relu6"
    graph @fused(%x: f32[1,8,8,4], %w: f32[1,1,4,16], %b: f32[16]) -> (f32[1,8,8,16]) {
      %3: f32[1,8,8,16] = convolution(%x, %w) {high = [0, 0], input_layout = "b01f", kernel_layout = "01io", low = [0, 0], output_layout = "b01f", strides = [1, 1]}
      %4: f32[1,8,8,16] = broadcast_in_dim(%b) {dimensions = [3], shape = (1, 8, 8, 16)}
      %5: f32[1,8,8,16] = add(%3, %4)
      return %5
    }
  return %3
}
)");
  EXPECT_EQ(name.what, "conv 1x1 + bias");
  EXPECT_EQ(name.title, "block_3_expand: conv 1x1 + bias");
  EXPECT_EQ(name.shown, "block_3_expand: conv 1x1 + bias [k3_contraction_convolution]");
  EXPECT_EQ(name.symbol, "k3_contraction_convolution_of_block_3_expand");
}

TEST(KernelNames, ElementwiseOpsOneByOne) {
  const KernelName name = NameOf(R"(
graph @f(%x: f32[4]) -> (f32[4]) {
  %1: f32[4] = fusion(%x) {kind = loop} "scale/mul"
    graph @fused(%x: f32[4]) -> (f32[4]) {
      %1: f32[4] = exp(%x)
      %2: f32[4] = mul(%1, %x)
      %3: f32[4] = tanh(%2)
      %4: f32[4] = neg(%3)
      %5: f32[4] = sub(%4, %x)
      return %5
    }
  return %1
}
)");
  EXPECT_EQ(name.title, "scale: exp + mul + tanh + 2 more");
}

TEST(KernelNames, ASoftmaxIsOne) {
  const KernelName name = NameOf(R"(
graph @f(%x: f32[4,8]) -> (f32[4,8]) {
  %1: f32[4,8] = fusion(%x) {kind = row} "probabilities/Softmax"
    graph @fused(%x: f32[4,8]) -> (f32[4,8]) {
      %1: f32[4,8] = exp(%x)
      %2: f32[4] = reduce(%1) {dimensions = [1], reducer = "add"}
      %3: f32[4,8] = broadcast_in_dim(%2) {dimensions = [0], shape = (4, 8)}
      %4: f32[4,8] = div(%1, %3)
      return %4
    }
  return %1
}
)");
  EXPECT_EQ(name.title, "probabilities: softmax");
}

}  // namespace
}  // namespace tektite::compiler
