// Fusions that a back end has no kernel for are compiled op by op.
#include "tests/conformance/harness.h"

#include "jit/passes/fusion/fuse_leftovers.h"
#include "jit/reference/interpreter.h"

namespace tektite::testing {
namespace {

using ir::Attr;
using ir::Op;

constexpr char kFusion[] = R"(
graph @f(%x: f32[5,8], %p: f32[2,8,4], %bias: f32[6]) -> (f32[5,6]) {
  %3: f32[5,6] = fusion(%x, %p, %bias) {kind = contraction, rhs_packed = 4}
    graph @fused(%0: f32[5,8], %1: f32[2,8,4], %2: f32[6]) -> (f32[5,6]) {
      %3: f32[8,2,4] = transpose(%1) {permutation = [1, 0, 2]}
      %4: f32[8,8] = reshape(%3) {shape = (8, 8)}
      %5: f32[8,6] = slice(%4) {limits = (8, 6), starts = (0, 0), strides = []}
      %6: f32[5,6] = dot_general(%0, %5) {lhs_contracting = [1], rhs_contracting = [0]}
      %7: f32[5,6] = broadcast_in_dim(%2) {dimensions = [1], shape = (5, 6)}
      %8: f32[5,6] = add(%6, %7)
      %9: f32[5,6] = tanh(%8)
      return %9
    }
  return %3
}
)";

TEST(SplitFusion, AContractionKeepsItsPanelsAndAnAddItsBroadcast) {
  auto graph = ir::Parse(kFusion);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto inputs = PlainInputs(**graph, 1);
  const auto before = reference::Evaluate(**graph, inputs);
  ASSERT_TRUE(before.ok()) << before.status();
  ir::Node* fusion = (*graph)->NodeList().back();
  const auto parts = passes::SplitFusion(**graph, fusion);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0]->Int(Attr::rhs_packed), 4);
  EXPECT_FALSE(parts[1]->attrs().Has(Attr::rhs_packed));
  EXPECT_EQ(parts[1]->region().nodes().size(), 4u);  // two parameters, broadcast, add
  ASSERT_TRUE(ops::VerifyGraph(**graph).ok()) << ops::VerifyGraph(**graph);
  const auto after = reference::Evaluate(**graph, inputs);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ((*before)[0], (*after)[0]);
}

TEST(SplitFusion, OneOpStaysAsItIs) {
  auto graph = ir::Parse(R"(
graph @f(%x: f32[5]) -> (f32[5]) {
  %1: f32[5] = fusion(%x) {kind = loop}
    graph @fused(%0: f32[5]) -> (f32[5]) {
      %1: f32[5] = neg(%0)
      return %1
    }
  return %1
}
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::string before = ir::Print(**graph);
  EXPECT_TRUE(passes::SplitFusion(**graph, (*graph)->NodeList().back()).empty());
  EXPECT_EQ(ir::Print(**graph), before);
}

}  // namespace
}  // namespace tektite::testing
