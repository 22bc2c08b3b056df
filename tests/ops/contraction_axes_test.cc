// Which dimensions batch, m, n and k of a contraction are, and how far apart their elements lie.
// Sums over elements at the addresses that axes say are compared with the reference interpreter,
// which has a view of its own.
#include "jit/ops/contraction_axes.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "jit/ir/graph.h"
#include "jit/reference/interpreter.h"
#include "tests/ops/run_op.h"

namespace tektite::ops {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Literal;
using ir::Node;

// Calls f for each index over all axes of the lists together.
void ForEach(const std::vector<const Axes*>& lists,
             const std::function<void(const std::vector<int64_t>&)>& f) {
  std::vector<int64_t> sizes;
  for (const Axes* axes : lists) {
    for (const Dim& size : SizesOf(*axes)) sizes.push_back(size.value());
  }
  if (ir::Product(sizes) == 0) return;
  std::vector<int64_t> index(sizes.size(), 0);
  while (true) {
    f(index);
    size_t d = sizes.size();
    while (d > 0 && ++index[d - 1] == sizes[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

// The place of an index in an operand, or in the result, whose strides are `strides`.
int64_t Place(const std::vector<const Axes*>& lists, const std::vector<int64_t>& index,
              Dim ContractionAxis::*stride) {
  int64_t place = 0;
  size_t i = 0;
  for (const Axes* axes : lists) {
    for (const ContractionAxis& axis : *axes) place += index[i++] * (axis.*stride).value();
  }
  return place;
}

int64_t PlaceInResult(const std::vector<const Axes*>& lists, const std::vector<int64_t>& index,
                      const ir::Dims& sizes) {
  const ir::Dims strides = ir::RowMajorStrides(sizes);
  std::vector<int64_t> at(sizes.size(), 0);
  size_t i = 0;
  for (const Axes* axes : lists) {
    for (const ContractionAxis& axis : *axes) {
      const int64_t number = index[i++];
      if (axis.result < 0) continue;
      int64_t& here = at[static_cast<size_t>(axis.result)];
      here = here * axis.size.value() + number;
    }
  }
  int64_t place = 0;
  for (size_t d = 0; d < at.size(); ++d) place += at[d] * strides[d].value();
  return place;
}

Literal Counting(const ir::Shape& shape) {
  Literal literal = Literal::Allocate(shape.dtype(), shape.sizes());
  auto* const data = literal.mutable_data<int32_t>();
  for (int64_t i = 0; i < literal.num_elements(); ++i) data[i] = static_cast<int32_t>(i % 7 - 3);
  return literal;
}

// Sums by strides alone, so without padding and spread inputs.
void ExpectSumsOfReference(const std::string& text) {
  SCOPED_TRACE(text);
  const auto graph = testing::ParseOrDie(text);
  const Node& root = *graph->outputs()[0].node;
  const auto axes = GetContractionAxes(root);
  ASSERT_TRUE(axes.ok()) << axes.status();
  const std::vector<const Axes*> lists = {&axes->batch, &axes->m, &axes->n, &axes->k};
  const Literal lhs = Counting(root.operand_shape(0)), rhs = Counting(root.operand_shape(1));
  Literal sums = Literal::Allocate(root.shape().dtype(), root.shape().sizes());
  std::fill_n(sums.mutable_data<int32_t>(), sums.num_elements(), 0);
  ForEach(lists, [&](const std::vector<int64_t>& index) {
    sums.mutable_data<int32_t>()[PlaceInResult(lists, index, root.shape().dims())] +=
        lhs.data<int32_t>()[Place(lists, index, &ContractionAxis::lhs_stride)] *
        rhs.data<int32_t>()[Place(lists, index, &ContractionAxis::rhs_stride)];
  });
  const auto expected = reference::Evaluate(*graph, {lhs, rhs});
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (int64_t i = 0; i < sums.num_elements(); ++i) {
    ASSERT_EQ(sums.data<int32_t>()[i], (*expected)[0].data<int32_t>()[i]) << "element " << i;
  }
}

TEST(ContractionAxes, SumsOfProducts) {
  ExpectSumsOfReference(
      "graph @f(%x: s32[3,4], %y: s32[4,5]) -> (s32[3,5]) {\n"
      "  %0: s32[3,5] = dot_general(%x, %y) {lhs_contracting = [1], rhs_contracting = [0]}\n"
      "  return %0\n}\n");
  ExpectSumsOfReference(
      "graph @f(%x: s32[4,2,3,5], %y: s32[5,6,2,4]) -> (s32[2,3,6]) {\n"
      "  %0: s32[2,3,6] = dot_general(%x, %y) {lhs_batch = [1], lhs_contracting = [3, 0], "
      "rhs_batch = [2], rhs_contracting = [0, 3]}\n"
      "  return %0\n}\n");
  ExpectSumsOfReference(
      "graph @f(%x: s32[3], %y: s32[5]) -> (s32[3,5]) {\n"
      "  %0: s32[3,5] = dot_general(%x, %y)\n"
      "  return %0\n}\n");
  ExpectSumsOfReference(
      "graph @f(%x: s32[3,0], %y: s32[0,5]) -> (s32[3,5]) {\n"
      "  %0: s32[3,5] = dot_general(%x, %y) {lhs_contracting = [1], rhs_contracting = [0]}\n"
      "  return %0\n}\n");
}

std::string Convolution(const std::string& x, const std::string& w, const std::string& result,
                        const std::string& attrs) {
  return "graph @f(%x: s32" + x + ", %w: s32" + w + ") -> (s32" + result + ") {\n  %0: s32" +
         result + " = convolution(%x, %w) {" + attrs + "}\n  return %0\n}\n";
}
constexpr char kLast[] =
    "input_layout = \"b01f\", kernel_layout = \"01io\", output_layout = \"b01f\"";

TEST(ContractionAxes, SumsOfConvolutions) {
  ExpectSumsOfReference(Convolution("[2,5,7,3]", "[2,3,3,4]", "[2,4,3,4]",
                                    std::string(kLast) + ", strides = [1, 2]"));
  ExpectSumsOfReference(Convolution("[2,5,7,3]", "[2,3,3,4]", "[2,3,3,4]",
                                    std::string(kLast) + ", rhs_dilation = [2, 2]"));
  // Other layouts.
  ExpectSumsOfReference(
      Convolution("[3,5,2,7]", "[4,3,2,3]", "[4,4,2,5]",
                  "input_layout = \"f0b1\", kernel_layout = \"oi01\", output_layout = \"f0b1\""));
  // A line, and no spatial dimension at all.
  ExpectSumsOfReference(
      Convolution("[2,5,3]", "[2,3,4]", "[2,4,4]",
                  "input_layout = \"b0f\", kernel_layout = \"0io\", output_layout = \"b0f\""));
  ExpectSumsOfReference(
      Convolution("[2,3]", "[3,4]", "[2,4]",
                  "input_layout = \"bf\", kernel_layout = \"io\", output_layout = \"bf\""));
}

TEST(ContractionAxes, SumsOfGroups) {
  ExpectSumsOfReference(Convolution("[2,5,5,6]", "[2,2,2,9]", "[2,4,4,9]",
                                    std::string(kLast) + ", feature_group_count = 3"));
  ExpectSumsOfReference(Convolution("[2,5,5,4]", "[3,3,1,4]", "[2,3,3,4]",
                                    std::string(kLast) + ", feature_group_count = 4"));
  ExpectSumsOfReference(Convolution("[6,5,5,2]", "[2,2,2,9]", "[2,4,4,9]",
                                    std::string(kLast) + ", batch_group_count = 3"));
}

TEST(ContractionAxes, SumsOfAFiltersGradient) {
  ExpectSumsOfReference(
      Convolution("[2,6,6,3]", "[2,5,4,5]", "[2,3,3,5]",
                  "input_layout = \"f01b\", kernel_layout = \"i01o\", output_layout = \"01bf\""));
}

TEST(ContractionAxes, DimensionsOfADot) {
  const auto graph = testing::ParseOrDie(
      "graph @f(%x: f32[n,8,4], %y: f32[n,6,8]) -> (f32[n,4,6]) {\n"
      "  %0: f32[n,4,6] = dot_general(%x, %y) {lhs_batch = [0], lhs_contracting = [1], "
      "rhs_batch = [0], rhs_contracting = [2]}\n"
      "  return %0\n}\n");
  const ContractionAxes axes = GetDotAxes(*graph->outputs()[0].node);
  EXPECT_EQ(SizeOf(axes.batch), Dim::Symbol("n"));
  EXPECT_EQ(axes.m.front().lhs, 2);
  EXPECT_EQ(axes.m.front().rhs, ContractionAxis::kNone);
  EXPECT_EQ(axes.n.front().rhs, 1);
  EXPECT_EQ(axes.n.front().result, 2);
  EXPECT_EQ(axes.k.front().lhs_stride, Dim(4));
  EXPECT_EQ(axes.k.front().rhs_stride, Dim(1));
  EXPECT_FALSE(axes.convolution.has_value());
}

TEST(ContractionAxes, WindowsOfAConvolution) {
  const auto graph =
      testing::ParseOrDie(Convolution("[2,5,7,3]", "[2,3,3,4]", "[2,4,5,4]", std::string(kLast)));
  const auto axes = GetContractionAxes(*graph->outputs()[0].node);
  ASSERT_TRUE(axes.ok());
  EXPECT_TRUE(axes->batch.empty());
  EXPECT_EQ(axes->m[0].window, ContractionAxis::kNone);
  EXPECT_EQ(axes->m[2].window, 1);
  EXPECT_EQ(axes->k[0].window, 0);
  EXPECT_EQ(axes->k[2].window, ContractionAxis::kNone);
  ASSERT_TRUE(axes->convolution.has_value());
}

TEST(ContractionAxes, AttributesOfNoConvolution) {
  Graph graph("f");
  const ir::Shape shape(ir::DType::kF32, ir::Dims{2, 3});
  const ir::Value x = graph.AddParameter(shape), w = graph.AddParameter(shape);
  const Node* const node = graph.Append(ir::Op::kConvolution, {x, w}, {}, {shape});
  EXPECT_EQ(GetContractionAxes(*node).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tektite::ops
