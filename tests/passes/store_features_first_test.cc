// Filters stored by features: the value stays what it was, whichever convolution it is.
#include "jit/passes/store_features_first.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/ops/ops.h"
#include "jit/reference/interpreter.h"

namespace tektite::passes {
namespace {

using ir::Literal;
using ::testing::HasSubstr;

struct Form {
  const char *x, *w, *y;     // shapes
  const char* attributes;    // of the convolution
  const char *filter, *now;  // the filter's shape and layout afterwards
};

constexpr char kText[] = R"(
graph @f(%x: $0, %w: $1) -> ($2) {
  %2: $2 = fusion(%x, %w) {kind = contraction}
    graph @fused(%0: $0, %1: $1) -> ($2) {
      %2: $2 = convolution(%0, %1) {$3}
      return %2
    }
  return %2
}
)";

Literal Numbers(const ir::Shape& shape) {
  Literal literal = Literal::Allocate(shape.dtype(), shape.sizes());
  for (int64_t i = 0; i < literal.num_elements(); ++i) {
    literal.mutable_data<float>()[i] = static_cast<float>(i * 7 % 23) - 11;
  }
  return literal;
}

TEST(StoreFeaturesFirst, KeepsTheValue) {
  const Form forms[] = {
      {"f32[2,5,6,3]", "f32[3,2,3,4]", "f32[2,3,5,4]",
       R"(input_layout = "b01f", kernel_layout = "01io", output_layout = "b01f")",
       "f32[4,3,2,3] = fusion(%w)", R"(kernel_layout = "o01i")"},
      {"f32[2,5,3]", "f32[3,3,4]", "f32[2,3,4]",
       R"(input_layout = "b0f", kernel_layout = "0io", output_layout = "b0f")",
       "f32[4,3,3] = fusion(%w)", R"(kernel_layout = "o0i")"},
      {"f32[2,3,4,3]", "f32[3,2,3,4]", "f32[2,5,9,4]",
       R"(input_layout = "b01f", kernel_layout = "01io", output_layout = "b01f", lhs_dilation = [2, 3], low = [1, 0], high = [1, 0])",
       "f32[3,3,2,4] = fusion(%w)", R"(kernel_layout = "i01o")"},
      {"f32[2,5,6,3]", "f32[2,3,5,4]", "f32[3,2,3,4]",
       R"(input_layout = "f01b", kernel_layout = "i01o", output_layout = "01bf")",
       "f32[4,3,2,3] = fusion(%x, %w)", R"(output_layout = "f01b")"},
  };
  for (const Form& form : forms) {
    SCOPED_TRACE(form.attributes);
    auto graph = ir::Parse(absl::Substitute(kText, form.x, form.w, form.y, form.attributes));
    ASSERT_TRUE(graph.ok()) << graph.status();
    ASSERT_TRUE(ops::VerifyGraph(**graph).ok()) << ops::VerifyGraph(**graph);
    const std::vector<Literal> inputs = {Numbers((*graph)->parameter(0)->shape()),
                                         Numbers((*graph)->parameter(1)->shape())};
    const auto before = reference::Evaluate(**graph, inputs);
    ASSERT_TRUE(before.ok()) << before.status();
    auto stored = StoreFeaturesFirst(**graph, (*graph)->outputs()[0].node);
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_TRUE(ops::VerifyGraph(**graph).ok()) << ops::VerifyGraph(**graph);
    const std::string text = ir::Print(**graph);
    EXPECT_THAT(text, HasSubstr(form.filter));
    EXPECT_THAT(text, HasSubstr(form.now));
    EXPECT_NE(ops::FindContraction((*stored)->region()), nullptr);
    const auto after = reference::Evaluate(**graph, inputs);
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_EQ(after->at(0), before->at(0));
    // What is stored so already stays.
    auto again = StoreFeaturesFirst(**graph, *stored);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(ir::Print(**graph), text);
  }
}

}  // namespace
}  // namespace tektite::passes
