// Calls replaced by the bodies of their functions.
#include "clustering/graph_def/inline_functions.h"

#include <gmock/gmock.h>

#include "clustering/graph_def/graph_index.h"
#include "clustering/graph_def/saved_model.h"
#include "tests/graph_def/testing.h"

namespace tektite::graph_def {
namespace {

// A function `name` of x that adds x to itself, and a call of it.
std::string Function(absl::string_view name, absl::string_view body) {
  return absl::StrCat("library { function { signature { name: '", name,
                      "' input_arg { name: 'x' type: DT_FLOAT } "
                      "output_arg { name: 'y' type: DT_FLOAT } } ",
                      body, " } }\n");
}
std::string Call(absl::string_view name, absl::string_view function, absl::string_view inputs) {
  return absl::StrCat("node { name: '", name, "' op: 'PartitionedCall' input: [", inputs,
                      "] attr { key: 'f' value { func { name: '", function, "' } } } }\n");
}
constexpr absl::string_view kTwice =
    "node_def { name: 'add' op: 'AddV2' input: 'x' input: 'x' } ret { key: 'y' value: 'add:z:0' }";

GraphDef Inline(absl::string_view text, int expected_calls) {
  GraphDef graph = ParseGraph(text);
  EXPECT_EQ(InlineFunctions({}, InlineLimits(), &graph), expected_calls);
  absl::StatusOr<GraphIndex> index = GraphIndex::Create(graph);
  EXPECT_TRUE(index.ok()) << index.status();
  return graph;
}

TEST(InlineFunctions, PutsBodyInPlaceOfCall) {
  const GraphDef graph = Inline(
      absl::StrCat(Function("twice", kTwice), "node { name: 'a' op: 'Placeholder' }",
                   Call("call", "twice", "'a:1'"), "node { name: 'out' op: 'Neg' input: 'call' }",
                   "node { name: 'after' op: 'NoOp' input: '^call' }"),
      1);
  EXPECT_EQ(Inputs(graph, "call/add"), "a:1 a:1");
  EXPECT_EQ(Inputs(graph, "out"), "call/add");
  EXPECT_EQ(Inputs(graph, "after"), "^call");
  EXPECT_EQ(FindNode(graph, "call").op, "NoOp");
  EXPECT_EQ(Inputs(graph, "call"), "^call/add");
}

TEST(InlineFunctions, FollowsCallsWithinCallsAndHandedThroughResults) {
  const GraphDef graph = Inline(
      absl::StrCat(Function("twice", kTwice), Function("same", "ret { key: 'y' value: 'x' }"),
                   Function("outer",
                            "node_def { name: 'in' op: 'twice' input: 'x' } "
                            "node_def { name: 'through' op: 'same' input: 'in:y:0' } "
                            "ret { key: 'y' value: 'through:y:0' }"),
                   "node { name: 'a' op: 'Placeholder' }", Call("call", "outer", "'a'"),
                   "node { name: 'out' op: 'Neg' input: 'call' }"),
      3);
  EXPECT_EQ(Inputs(graph, "out"), "call/in/add");
  EXPECT_EQ(Inputs(graph, "call/in/add"), "a a");
}

TEST(InlineFunctions, BodyWaitsForWhatTheCallWaitsFor) {
  const GraphDef graph = Inline(
      absl::StrCat(Function("twice", kTwice), "node { name: 'a' op: 'Placeholder' }",
                   "node { name: 'before' op: 'NoOp' }", Call("call", "twice", "'a', '^before'")),
      1);
  EXPECT_EQ(Inputs(graph, "call/add"), "a a ^before");
}

TEST(InlineFunctions, KnowsOutputsByName) {
  const GraphDef graph =
      Inline(absl::StrCat(Function("pick",
                                   "node_def { name: 'm' op: 'Switch' input: 'x' input: 'x' } "
                                   "ret { key: 'y' value: 'm:output_true:0' }"),
                          "node { name: 'a' op: 'Placeholder' }", Call("call", "pick", "'a'"),
                          "node { name: 'out' op: 'Neg' input: 'call' }"),
             1);
  EXPECT_EQ(Inputs(graph, "out"), "call/m:1");
}

TEST(InlineFunctions, FillsInParameters) {
  GraphDef graph =
      Inline(absl::StrCat(Function("twice",
                                   "node_def { name: 'add' op: 'AddV2' input: 'x' input: 'x' "
                                   "attr { key: 'T' value { placeholder: 'T' } } } "
                                   "ret { key: 'y' value: 'add:z:0' }"),
                          "node { name: 'a' op: 'Placeholder' }",
                          "node { name: 'call' op: 'twice' input: 'a' "
                          "attr { key: 'T' value { type: DT_HALF } } }"),
             1);
  EXPECT_EQ(FindNode(graph, "call/add").attrs.Type("T"), DataType::kHalf);
}

TEST(InlineFunctions, LeavesWhatDoesNotFit) {
  const std::string graph =
      absl::StrCat(Function("twice", kTwice), "node { name: 'a' op: 'Placeholder' }");
  Inline(absl::StrCat(graph, Call("call", "missing", "'a'")), 0);
  Inline(absl::StrCat(graph, Call("call", "twice", "'a', 'a'")), 0);
  Inline(absl::StrCat(Function("bad", "ret { key: 'y' value: 'gone:z:0' }"),
                      "node { name: 'a' op: 'Placeholder' }", Call("call", "bad", "'a'")),
         0);
}

TEST(InlineFunctions, RecursionEndsAtTheLimits) {
  const std::string text =
      absl::StrCat(Function("again",
                            "node_def { name: 'l' op: 'again' input: 'x' } "
                            "node_def { name: 'r' op: 'again' input: 'l:y:0' } "
                            "ret { key: 'y' value: 'r:y:0' }"),
                   "node { name: 'a' op: 'Placeholder' }", Call("call", "again", "'a'"));
  GraphDef graph = ParseGraph(text);
  InlineLimits limits;
  limits.nodes = 5000;
  EXPECT_GT(InlineFunctions({}, limits, &graph), 30);
  EXPECT_LE(graph.nodes.size(), 5000u);
  EXPECT_TRUE(GraphIndex::Create(graph).ok());
}

TEST(InlineFunctions, TakesARealModelApart) {
  absl::StatusOr<SavedModel> model =
      ReadSavedModel(ReadTestData("saved_model.pb"), TensorStorage::kCopy);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_GT(InlineFunctions(model->ops, InlineLimits(), &model->graph), 3);
  int matmuls = 0;
  for (const NodeDef& node : model->graph.nodes) {
    EXPECT_THAT(node.op, ::testing::Not(::testing::HasSubstr("PartitionedCall"))) << node.name;
    matmuls += node.op == "MatMul" ? 1 : 0;
  }
  EXPECT_GE(matmuls, 2);
  absl::StatusOr<GraphIndex> index = GraphIndex::Create(model->graph);
  EXPECT_TRUE(index.ok()) << index.status();
}

}  // namespace
}  // namespace tektite::graph_def
