// Bodies of functions as closed graphs.
#include "clustering/graph_def/function_graphs.h"

#include "clustering/graph_def/graph_index.h"
#include "tests/graph_def/testing.h"

namespace tektite::graph_def {
namespace {

constexpr char kLibrary[] = R"(
library { function {
  signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT } input_arg { name: 'b' type_attr: 'T' }
              output_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type_attr: 'T' } }
  node_def { name: 'top' op: 'TopKV2' input: ['a', 'b'] }
  node_def { name: 'call' op: 'PartitionedCall' input: 'top:indices:0'
             attr { key: 'f' value { func { name: 'g' } } } }
  ret { key: 'x' value: 'a' } ret { key: 'y' value: 'call:output:0' }
  arg_attr { key: 0 value { attr { key: '_output_shapes' value { list { shape { dim { size: 7 } } } } } } }
} }
library { function {
  signature { name: 'g' input_arg { name: 'v' type: DT_INT32 } output_arg { name: 'w' type: DT_INT32 } }
  node_def { name: 'neg' op: 'Neg' input: 'v' }
  ret { key: 'w' value: 'neg:y:0' }
} }
)";

FunctionRef F() {
  FunctionRef f{"f", {}};
  f.attrs.Set("T", AttrValue::Of(DataType::kInt32));
  return f;
}

TEST(FunctionGraphs, CloseABody) {
  const GraphDef library = ParseGraph(kLibrary);
  FunctionGraphs functions(library);
  const auto graph = functions.Get(F());
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(GraphIndex::Create(**graph).ok());
  EXPECT_EQ((*graph)->nodes[0].op, "_Arg");
  EXPECT_NE((*graph)->nodes[0].attrs.Find("_output_shapes"), nullptr);
  EXPECT_EQ(FindNode(**graph, "f/b").attrs.Type("T"), DataType::kInt32);
  EXPECT_EQ(FindNode(**graph, "f/b").attrs.Int("index", -1), 1);
  EXPECT_EQ(Inputs(**graph, "f/top"), "f/a f/b");
  EXPECT_EQ(Inputs(**graph, "f/call/neg"), "f/top:1");
  EXPECT_EQ(Inputs(**graph, "f/x_RetVal"), "f/a");
  EXPECT_EQ(Inputs(**graph, "f/y_RetVal"), "f/call/neg");
  EXPECT_EQ(FindNode(**graph, "f/y_RetVal").attrs.Type("T"), DataType::kInt32);
  const auto again = functions.Get(F());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *graph);
}

TEST(FunctionGraphs, WhatIsMissingOrDoesNotFitIsAnError) {
  GraphDef library = ParseGraph(kLibrary);
  EXPECT_TRUE(absl::IsNotFound(FunctionGraphs(library).Get({"h", {}}).status()));
  library.functions[0].ret[0].second = "nowhere:z:0";
  const auto graph = FunctionGraphs(library).Get(F());
  EXPECT_TRUE(absl::IsInvalidArgument(graph.status()));
  EXPECT_EQ(graph.status().message(), "function 'f': its body does not fit its signature");
}

TEST(FunctionGraphs, ReachableFunctionsAreThoseThatAreNeeded) {
  GraphDef library = ParseGraph(kLibrary);
  NodeDef node;
  node.op = "While";
  node.attrs.Set("body", AttrValue::Of(F()));
  EXPECT_EQ(ReachableFunctions({&node, 1}, library).size(), 2u);
  node.attrs.Set("body", AttrValue::Of(FunctionRef{"g", {}}));
  EXPECT_EQ(ReachableFunctions({&node, 1}, library).size(), 1u);
  node.attrs.Erase("body");
  EXPECT_TRUE(ReachableFunctions({&node, 1}, library).empty());
}

}  // namespace
}  // namespace tektite::graph_def
