// Names resolved, and what no correct graph has refused.
#include "clustering/graph_def/graph_index.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/graph_def/testing.h"

namespace tektite::graph_def {
namespace {

using ::testing::HasSubstr;

std::string Error(absl::string_view text) {
  const GraphDef graph = ParseGraph(text);
  return std::string(GraphIndex::Create(graph).status().message());
}

TEST(GraphIndex, OrdersProducersFirst) {
  const GraphDef graph = ParseGraph(R"(
    node { name: "c" op: "Add" input: "a" input: "b:1" input: "^d" }
    node { name: "b" op: "Split" input: "a" }
    node { name: "a" op: "Const" }
    node { name: "d" op: "NoOp" })");
  absl::StatusOr<GraphIndex> index = GraphIndex::Create(graph);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_THAT(index->order(), ::testing::ElementsAre(2, 1, 3, 0));
  EXPECT_EQ(index->inputs(0)[1].output, 1);
  EXPECT_TRUE(index->inputs(0)[2].is_control());
  ASSERT_EQ(index->uses(2).size(), 2u);
  EXPECT_EQ(index->Find("b"), 1);
  EXPECT_EQ(index->Find("x"), -1);
}

TEST(GraphIndex, LoopsAreNoCycles) {
  const GraphDef graph = ParseGraph(R"(
    node { name: "e" op: "Enter" }
    node { name: "m" op: "Merge" input: "e" input: "n" }
    node { name: "n" op: "NextIteration" input: "m" })");
  EXPECT_TRUE(GraphIndex::Create(graph).ok());
}

// Of two values that go round, one is left with what the other one brought in a turn before.
TEST(GraphIndex, LoopsAreEnteredBeforeTheyAreLeft) {
  const auto enter = [](absl::string_view name, absl::string_view loop, absl::string_view inputs) {
    return absl::StrCat("node { name: '", name, "' op: 'Enter' ", inputs,
                        " attr { key: 'frame_name' value { s: '", loop, "' } } }\n");
  };
  const GraphDef graph = ParseGraph(absl::StrCat(
      enter("e0", "outer", ""), "node { name: 'm0' op: 'Merge' input: 'e0' input: 'n0' }",
      enter("f", "inner", "input: 'm0'"), "node { name: 'g' op: 'Exit' input: 'f' }",
      "node { name: 'x0' op: 'Exit' input: 'm0' } node { name: 'a' op: 'Neg' input: 'x0' }",
      "node { name: 'b' op: 'Neg' }", enter("e1", "outer", "input: 'b'"),
      "node { name: 'n0' op: 'NextIteration' input: 'e1' }"));
  absl::StatusOr<GraphIndex> index = GraphIndex::Create(graph);
  ASSERT_TRUE(index.ok()) << index.status();
  const auto loop = [&](absl::string_view name) { return index->loop(index->Find(name)); };
  EXPECT_EQ(loop("a"), 0);
  EXPECT_EQ(loop("m0"), loop("x0"));
  EXPECT_EQ(loop("e1"), loop("x0"));
  EXPECT_NE(loop("f"), loop("x0"));
  EXPECT_EQ(loop("g"), loop("f"));
  EXPECT_EQ(index->LoopOfResults(index->Find("g")), loop("m0"));
  EXPECT_EQ(index->LoopOfResults(index->Find("x0")), 0);
  EXPECT_THAT(index->Entries(index->Find("x0")),
              ::testing::UnorderedElementsAre(index->Find("e0"), index->Find("e1")));
  EXPECT_THAT(index->Entries(index->Find("g")), ::testing::ElementsAre(index->Find("f")));
  EXPECT_THAT(index->Entries(index->Find("a")), ::testing::IsEmpty());
  const std::vector<int>& order = index->order();
  const auto place = [&](absl::string_view name) {
    return std::find(order.begin(), order.end(), index->Find(name));
  };
  EXPECT_LT(place("b"), place("e1"));
  EXPECT_LT(place("e1"), place("x0"));
}

TEST(GraphIndex, RefusesBadGraphs) {
  EXPECT_THAT(Error("node { name: 'a' op: 'A' } node { name: 'a' op: 'B' }"),
              HasSubstr("two nodes are called 'a'"));
  EXPECT_THAT(Error("node { name: 'a' op: 'A' input: 'b:2' }"),
              HasSubstr("node 'a' has the input 'b:2', which is not there"));
  EXPECT_THAT(Error("node { name: 'a' op: 'A' input: 'b' } node { name: 'b' op: 'A' input: 'a' }"),
              HasSubstr("depends on itself"));
}

}  // namespace
}  // namespace tektite::graph_def
