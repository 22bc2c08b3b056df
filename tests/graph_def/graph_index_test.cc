// Names resolved, and what no correct graph has refused.
#include "clustering/graph_def/graph_index.h"

#include <gmock/gmock.h>

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
