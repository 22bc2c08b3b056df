// Clusters and frozen graphs as closed graphs.
#include "clustering/extract_cluster.h"

#include "tests/clustering/testing.h"

namespace tektite::clustering {
namespace {

using graph_def::DataType;
using graph_def::GraphDef;
using ::testing::ElementsAre;

TEST(ExtractCluster, ClosesAClusterWithArgumentsAndResults) {
  const GraphDef graph = graph_def::ParseGraph(
      Input("x") + Node("v", "VarHandleOp", {}) + Ints("axis", {0}) +
      Node("r", "ReadVariableOp", {"v"}) + Node("a", "AddV2", {"x", "r"}) +
      Node("group", "NoOp", {"^a"}) + Node("b", "Sum", {"a", "axis", "^group"}) +
      Node("c", "Greater", {"b", "x"}) + Node("host", "PyFunc", {"b", "c"}));
  const Marking marking = Mark(graph);
  ASSERT_EQ(marking.clusters.size(), 1u);
  absl::StatusOr<graph_def::GraphIndex> index = graph_def::GraphIndex::Create(graph);
  ASSERT_TRUE(index.ok());
  absl::StatusOr<ClosedGraph> closed = ExtractCluster(*index, marking.clusters[0].nodes);
  ASSERT_TRUE(closed.ok()) << closed.status();
  EXPECT_THAT(closed->inputs, ElementsAre("v", "x"));
  EXPECT_THAT(closed->outputs, ElementsAre("b", "c"));
  const GraphDef& g = closed->graph;
  EXPECT_EQ(FindNode(g, "arg_0").attrs.Type("T"), DataType::kResource);
  EXPECT_EQ(FindNode(g, "arg_1").attrs.Int("index", -1), 1);
  EXPECT_EQ(graph_def::Inputs(g, "r"), "arg_0");
  EXPECT_EQ(graph_def::Inputs(g, "a"), "arg_1 r");
  EXPECT_EQ(graph_def::Inputs(g, "b"), "a axis ^group");
  EXPECT_EQ(FindNode(g, "retval_1").attrs.Type("T"), DataType::kBool);
  EXPECT_TRUE(graph_def::GraphIndex::Create(g).ok());
}

// A read that only a control edge orders behind an assignment got the old value where the members
// came in another order than the graph's.
TEST(ExtractCluster, KeepsControlEdgesBetweenMembers) {
  const std::string read = Attr("dtype", "type: DT_FLOAT");
  const GraphDef graph = graph_def::ParseGraph(
      Input("x") + Node("v", "VarHandleOp", {}) + Node("host", "PyFunc", {}) +
      Node("write", "AssignVariableOp", {"v", "x", "^host"}) + Node("tie", "NoOp", {"^write"}) +
      Ints("late", {0}, {"^tie"}) + Node("read", "ReadVariableOp", {"v", "^late"}, read));
  absl::StatusOr<graph_def::GraphIndex> index = graph_def::GraphIndex::Create(graph);
  ASSERT_TRUE(index.ok());
  // The constant is no member: nothing reads it.
  absl::StatusOr<ClosedGraph> closed =
      ExtractCluster(*index, {index->Find("read"), index->Find("tie"), index->Find("write")});
  ASSERT_TRUE(closed.ok()) << closed.status();
  EXPECT_EQ(graph_def::Inputs(closed->graph, "read"), "arg_0 ^tie");
  EXPECT_EQ(graph_def::Inputs(closed->graph, "tie"), "^write");
  EXPECT_EQ(graph_def::Inputs(closed->graph, "write"), "arg_0 arg_1");
}

TEST(ExtractCluster, TellsVariablesThatTheGraphUpdates) {
  const auto is_updated = [](absl::string_view updates) {
    const GraphDef graph =
        graph_def::ParseGraph(Input("x") + Node("v", "VarHandleOp", {}) +
                              Node("r", "ReadVariableOp", {"v"}, Attr("dtype", "type: DT_FLOAT")) +
                              Node("y", "Mul", {"x", "r"}) + std::string(updates));
    absl::StatusOr<graph_def::GraphIndex> index = graph_def::GraphIndex::Create(graph);
    EXPECT_TRUE(index.ok());
    absl::StatusOr<ClosedGraph> closed =
        ExtractCluster(*index, {index->Find("r"), index->Find("y")});
    EXPECT_TRUE(closed.ok()) << closed.status();
    return FindNode(closed->graph, "arg_0").attrs.Bool("_tektite_updated", false);
  };
  EXPECT_FALSE(is_updated(Node("other", "VarIsInitializedOp", {"v"})));
  EXPECT_TRUE(is_updated(Node("update", "ResourceApplyGradientDescent", {"v", "x", "y"})));
  EXPECT_TRUE(is_updated(Node("update", "ResourceScatterAdd", {"v", "x", "y"})));
  EXPECT_TRUE(is_updated(Node("update", "AssignSubVariableOp", {"v", "y"})));
}

TEST(CloseGraph, TurnsPlaceholdersAndSinksIntoTheBoundary) {
  const GraphDef graph =
      graph_def::ParseGraph(Input("x") + Input("unused") + Node("a", "Exp", {"x"}) +
                            Node("arg_0", "Neg", {"a"}) + Node("group", "NoOp", {"^arg_0"}));
  absl::StatusOr<ClosedGraph> closed = CloseGraph(graph, {});
  ASSERT_TRUE(closed.ok()) << closed.status();
  EXPECT_THAT(closed->inputs, ElementsAre("x"));
  EXPECT_THAT(closed->outputs, ElementsAre("arg_0"));
  // The argument is renamed, since a node has its name already.
  EXPECT_EQ(FindNode(closed->graph, "arg_0").op, "Neg");
  EXPECT_EQ(graph_def::Inputs(closed->graph, "a"), "arg_0_0");
  EXPECT_EQ(closed->graph.nodes.size(), 4u);
}

TEST(CloseGraph, TakesNamedOutputs) {
  const GraphDef graph =
      graph_def::ParseGraph(Input("x") + Node("a", "Split", {"x"}) + Node("b", "Neg", {"a:1"}));
  absl::StatusOr<ClosedGraph> closed = CloseGraph(graph, {"a:1", "x"});
  ASSERT_TRUE(closed.ok()) << closed.status();
  EXPECT_THAT(closed->outputs, ElementsAre("a:1", "x"));
  EXPECT_EQ(graph_def::Inputs(closed->graph, "retval_0"), "a:1");
  EXPECT_EQ(graph_def::Inputs(closed->graph, "retval_1"), "arg_0");
  EXPECT_EQ(CloseGraph(graph, {"nothing"}).status().message(), "the graph has no tensor 'nothing'");
}

TEST(CloseGraph, KeepsLoopsWhole) {
  const GraphDef graph = graph_def::ParseGraph(
      Input("x") + Node("e", "Enter", {"x"}) + Node("m", "Merge", {"e", "n"}) +
      Node("s", "Switch", {"m", "m"}) + Node("neg", "Neg", {"s:1"}) +
      Node("n", "NextIteration", {"neg"}) + Node("out", "Exit", {"s"}));
  absl::StatusOr<ClosedGraph> closed = CloseGraph(graph, {"out"});
  ASSERT_TRUE(closed.ok()) << closed.status();
  EXPECT_TRUE(graph_def::GraphIndex::Create(closed->graph).ok());
  EXPECT_EQ(graph_def::Inputs(closed->graph, "m"), "e n");
}

}  // namespace
}  // namespace tektite::clustering
