// The report: every op is either in a cluster or left out with a reason.
#include "clustering/explain.h"

#include <algorithm>

#include "clustering/import_cluster.h"
#include "tests/clustering/testing.h"

namespace tektite::clustering {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Explain, JsonHasItsExactForm) {
  absl::StatusOr<Explanation> e =
      Explain(Input("x") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) +
                  Node("py \"quoted\"", "PyFunc", {"b"}) + Node("out", "Identity", {"b"}),
              MarkOptions());
  ASSERT_TRUE(e.ok()) << e.status();
  EXPECT_EQ(RenderJson(*e),
            "{\"ops\": 3, \"clustered\": 2, \"clusters\": [{\"name\": \"cluster_0\", \"ops\": 2}], "
            "\"left_out\": [{\"node\": \"py \\\"quoted\\\"\", \"op\": \"PyFunc\", "
            "\"reason\": \"NO_IMPORTER\", \"detail\": \"\"}], \"in_parts\": []}\n");
}

TEST(Explain, TextNamesReasonsAndShapes) {
  absl::StatusOr<Explanation> e = Explain(
      Input("x") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) + Node("py", "PyFunc", {"b"}),
      MarkOptions());
  ASSERT_TRUE(e.ok()) << e.status();
  const std::string text = RenderText(*e);
  EXPECT_THAT(text, HasSubstr("2 of 3 ops (66.7 %) in 1 cluster\n"));
  EXPECT_THAT(text, HasSubstr("x f32[1024,1024]"));
  EXPECT_THAT(text, HasSubstr("b f32[1024,1024]"));
  EXPECT_THAT(text, HasSubstr("NO_IMPORTER: There is no importer for this op."));
  EXPECT_THAT(RenderDot(*e), HasSubstr("subgraph cluster_0"));
}

// What a turn calls of a loop that is in no cluster was not said.
TEST(Explain, LoopsRunInParts) {
  const std::string loop =
      "node { name: 'loop' op: 'StatelessWhile' input: 'x' attr { key: 'T' value { list { type: "
      "DT_FLOAT } } } attr { key: 'cond' value { func { name: 'cond' } } } attr { key: 'body' "
      "value { func { name: 'body' } } } }\n";
  const auto function = [](absl::string_view name, absl::string_view nodes, absl::string_view y) {
    return absl::StrCat("library { function { signature { name: '", name,
                        "' input_arg { name: 'v' type: DT_FLOAT } output_arg { name: 'y' type: ",
                        "DT_FLOAT } } ", nodes, " ret { key: 'y' value: '", y, "' } } }\n");
  };
  const auto node = [](absl::string_view name, absl::string_view op, absl::string_view input) {
    return absl::StrCat("node_def { name: '", name, "' op: '", op, "' input: '", input,
                        "' attr { key: 'T' value { type: DT_FLOAT } } } ");
  };
  MarkOptions options = Rules();
  absl::StatusOr<Explanation> e = Explain(
      Input("x") + loop + Node("z", "Exp", {"loop"}) + function("cond", "", "v") +
          function("body",
                   node("a", "Exp", "v") + node("b", "Neg", "a:y:0") + node("c", "PyFunc", "b:y:0"),
                   "c:y:0"),
      options);
  ASSERT_TRUE(e.ok()) << e.status();
  ASSERT_EQ(e->in_parts.size(), 1);
  EXPECT_EQ(e->in_parts[0].function, "body");
  EXPECT_EQ(e->in_parts[0].ops, 3);
  EXPECT_EQ(e->in_parts[0].clustered, 2);
  EXPECT_THAT(RenderText(*e), HasSubstr("StatelessWhile 'loop': a turn calls 1 cluster (2 of 3 "
                                        "ops) and 1 ops of the host"));
}

// A call of a function with jit_compile=True is XLA's or ours as a whole.
TEST(Explain, CallForXlaIsNotTakenApart) {
  const auto graph = [](absl::string_view op) {
    return Input("x") + Node("a", "Exp", {"x"}) +
           Node("call", "PartitionedCall", {"a"},
                Attr("f", "func { name: 'f' }") + Attr("_XlaMustCompile", "b: true")) +
           absl::StrCat("library { function { signature { name: 'f' ",
                        "input_arg { name: 'v' type: DT_FLOAT } ",
                        "output_arg { name: 'r' type: DT_FLOAT } } node_def { name: 'n' op: '", op,
                        "' input: 'v' attr { key: 'T' value { type: DT_FLOAT } } } ",
                        "ret { key: 'r' value: 'n:y:0' } } }");
  };
  const auto text = [](const std::string& model, bool take_over_xla) {
    MarkOptions options;
    options.take_over_xla = take_over_xla;
    absl::StatusOr<Explanation> e = Explain(model, options);
    return e.ok() ? RenderText(*e) : std::string(e.status().message());
  };
  EXPECT_THAT(text(graph("Tanh"), true), HasSubstr("2 of 2 ops (100.0 %) in 1 cluster\n"));
  EXPECT_THAT(text(graph("Tanh"), false), HasSubstr("MUST_COMPILE: "));
  EXPECT_THAT(text(graph("Print"), true), HasSubstr("PartitionedCall (NO_IMPORTER: Print 'f/n')"));
}

TEST(Explain, MemoryOfCallsWhereItIsKnown) {
  absl::StatusOr<Explanation> e =
      Explain(Input("x") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}), MarkOptions());
  ASSERT_TRUE(e.ok()) << e.status();
  EXPECT_THAT(RenderText(*e), Not(HasSubstr("memory")));
  e->memory = {{3 << 20, 2 << 20, {{"n0", 8}, {"n1", 64}}, "", ""}};
  EXPECT_THAT(RenderText(*e),
              HasSubstr("memory of a call: 3.00 MiB, 1.50x of the most that is live at "
                        "once; at n0 = 8, n1 = 64\n"));
  EXPECT_THAT(RenderJson(*e), HasSubstr("\"memory\": {\"arena_bytes\": 3145728, "
                                        "\"max_live_bytes\": 2097152, "
                                        "\"sizes\": {\"n0\": 8, \"n1\": 64}}}"));
  e->memory[0].refused = "no \"kernel\"";
  EXPECT_THAT(RenderText(*e), HasSubstr("memory of a call: unknown, no \"kernel\"\n"));
  EXPECT_THAT(RenderJson(*e), HasSubstr("\"memory\": {\"refused\": \"no \\\"kernel\\\"\"}"));
}

// A size that the graph leaves open is a symbol, and a size computed from it an expression.
TEST(Explain, TextShowsSymbolicShapes) {
  const std::string open = Node("x", "Placeholder", {},
                                Attr("dtype", "type: DT_FLOAT") +
                                    Attr("shape", "shape { dim { size: -1 } dim { size: 1024 } }"));
  const std::string model = open + Ints("axis", {0}) + Node("a", "Exp", {"x"}) +
                            Node("b", "ConcatV2", {"a", "a", "axis"}, Attr("N", "i: 2"));
  absl::StatusOr<Explanation> e = Explain(model, Rules());
  ASSERT_TRUE(e.ok()) << e.status();
  const std::string text = RenderText(*e);
  EXPECT_THAT(text, HasSubstr("x f32[n0,1024]"));
  EXPECT_THAT(text, HasSubstr("b f32[2*n0,1024]"));
}

// A training step of a dumped graph: an assignment that no node waits for, and a read that a
// control edge alone orders behind the other one. explain refused the first, and got the old value
// for the second unless the members stood in the graph's order.
TEST(Explain, ImportsClustersThatUpdateVariables) {
  const std::string shape = Attr("shape", "shape { dim { size: 1024 } dim { size: 1024 } }");
  const std::string dtype = Attr("dtype", "type: DT_FLOAT");
  const std::string same_shape = Attr("validate_shape", "b: true");
  const std::string model =
      Node("late", "ReadVariableOp", {"v", "^tie"}, dtype) + Node("out", "Exp", {"late"}) +
      Node("tie", "NoOp", {"^write"}) +
      Node("write", "AssignVariableOp", {"v", "b"}, dtype + same_shape) + Input("x") +
      Node("v", "VarHandleOp", {}, dtype + shape) + Node("early", "ReadVariableOp", {"v"}, dtype) +
      Node("a", "Mul", {"early", "x"}) + Node("b", "Neg", {"a"}) +
      Node("last", "AssignAddVariableOp", {"v", "out", "^out"}, dtype + same_shape);
  absl::StatusOr<Explanation> e = Explain(model, Rules());
  ASSERT_TRUE(e.ok()) << e.status();
  ASSERT_EQ(e->marking.clusters.size(), 1u);
  const std::string text = RenderText(*e);
  EXPECT_THAT(text, Not(HasSubstr("no code for all sizes")));
  EXPECT_THAT(text, Not(HasSubstr("write f32")));
  absl::StatusOr<graph_def::GraphIndex> index = graph_def::GraphIndex::Create(e->graph);
  ASSERT_TRUE(index.ok());
  // In whatever order the members come.
  for (const bool reversed : {false, true}) {
    MarkedCluster cluster = e->marking.clusters[0];
    if (reversed) std::reverse(cluster.nodes.begin(), cluster.nodes.end());
    const ImportedCluster imported = ImportCluster(*index, CostModel(*index), cluster);
    ASSERT_EQ(imported.refused, "");
    const std::string code = ir::Print(*imported.code.graph);
    EXPECT_THAT(code, HasSubstr("%3: f32[1024,1024] = neg(%2) \"b\""));
    EXPECT_THAT(code, HasSubstr("%4: f32[1024,1024] = exp(%3) \"out\"")) << reversed;
    EXPECT_EQ(imported.code.updated.size(), 1u);
  }
}

TEST(Explain, ReadsAllModelForms) {
  for (const char* file : {"frozen.pb", "frozen.pbtxt"}) {
    const std::string bytes = graph_def::ReadTestData(file);
    absl::StatusOr<Explanation> e = Explain(bytes, Rules());
    ASSERT_TRUE(e.ok()) << file << ": " << e.status();
    EXPECT_THAT(RenderText(*e), HasSubstr("5 of 10 ops (50.0 %) in 1 cluster\n")) << file;
  }
}

TEST(Explain, ASavedModelIsWhatItsSignatureRuns) {
  const std::string bytes = graph_def::ReadTestData("saved_model.pb");
  MarkOptions options;
  absl::StatusOr<Explanation> e = Explain(bytes, options);
  ASSERT_TRUE(e.ok()) << e.status();
  const std::string text = RenderText(*e);
  EXPECT_THAT(text, HasSubstr("MatMul 2"));
  EXPECT_THAT(text, HasSubstr("FusedBatchNormV3 1"));
  EXPECT_THAT(text, HasSubstr("AssignAddVariableOp"));
  // Nothing of saving and restoring.
  EXPECT_THAT(text, ::testing::Not(HasSubstr("RestoreV2")));
}

TEST(Explain, BadModelsGiveOneLine) {
  for (const std::string& bytes :
       {std::string(), std::string("garbage"), std::string("\x0A\xFF\xFF", 3),
        std::string("\x08\x01", 2), std::string("node { name: 'a' input: 'b' }")}) {
    absl::StatusOr<Explanation> e = Explain(bytes, MarkOptions());
    ASSERT_FALSE(e.ok()) << bytes;
    EXPECT_EQ(e.status().message().find('\n'), absl::string_view::npos);
  }
}

}  // namespace
}  // namespace tektite::clustering
