// Which slices are parts of their operand's memory, and where.
#include "jit/ir/part.h"

#include "absl/strings/substitute.h"
#include "gtest/gtest.h"

namespace tektite::ir {
namespace {

// The offset of a slice of f32[4,n,6]; -1: it is no part.
int64_t OffsetOf(const char* shape, const char* starts, const char* limits,
                 const char* strides = "1, 1, 1", const char* result = "%y",
                 int64_t alignment = 1) {
  auto graph = Parse(absl::Substitute(R"(
    graph @g(%x: f32[4,n,6]) -> (f32[$4]) {
      %s: f32[$0] = slice(%x) {limits = ($2), starts = ($1), strides = [$3]}
      %y: f32[$0] = neg(%s)
      return $5
    })",
                                      shape, starts, limits, strides, shape, result));
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return -2;
  for (const auto& node : (*graph)->nodes()) {
    if (node->op() == Op::kSlice) return IsPart(*node, alignment) ? *PartOffset(*node) : -1;
  }
  return -2;
}

TEST(Part, OfTheOuterDimensions) {
  EXPECT_EQ(OffsetOf("2,n,6", "0, 0, 0", "2, n, 6"), 0);
  EXPECT_EQ(OffsetOf("1,2,6", "0, 3, 0", "1, 5, 6"), 18);
  EXPECT_EQ(OffsetOf("1,1,2", "0, 1, 3", "1, 2, 5"), 9);
  EXPECT_EQ(OffsetOf("1,1,1", "0, 1, 3", "1, 2, 5", "1, 1, 2"), 9);
}

TEST(Part, NotWhereElementsLieApart) {
  EXPECT_EQ(OffsetOf("4,n,2", "0, 0, 0", "4, n, 2"), -1);
  EXPECT_EQ(OffsetOf("2,2,6", "0, 0, 0", "2, 2, 6"), -1);
  EXPECT_EQ(OffsetOf("1,1,3", "0, 0, 0", "1, 1, 6", "1, 1, 2"), -1);
}

TEST(Part, NotAtAPlaceThatDependsOnSizes) {
  EXPECT_EQ(OffsetOf("1,n,6", "1, 0, 0", "2, n, 6"), -1);
  EXPECT_EQ(OffsetOf("1,1,6", "0, n - 1, 0", "1, n, 6"), -1);
}

TEST(Part, AtMultiplesOfItsAlignment) {
  const auto offset = [](const char* starts, const char* limits) {
    return OffsetOf("1,1,2", starts, limits, "1, 1, 1", "%y", 16);
  };
  EXPECT_EQ(offset("0, 1, 2", "1, 2, 4"), 8);
  EXPECT_EQ(offset("0, 0, 0", "1, 1, 2"), 0);
  EXPECT_EQ(offset("0, 1, 0", "1, 2, 2"), -1);
  EXPECT_EQ(offset("0, 1, 1", "1, 2, 3"), -1);
}

TEST(Part, NotAResultOfTheGraph) {
  EXPECT_EQ(OffsetOf("1,2,6", "0, 3, 0", "1, 5, 6", "1, 1, 1", "%s"), -1);
}

}  // namespace
}  // namespace tektite::ir
