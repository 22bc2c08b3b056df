// Sums over a temporary variable: those Grappler wrote become AddN, all other ones are left alone.
#include "clustering/restore_add_n.h"

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "tests/clustering/testing.h"

namespace tektite::clustering {
namespace {

std::string Name(absl::string_view name) {
  return Attr("var_name", absl::StrCat("s: '", name, "'"));
}

std::string Zeros(absl::string_view name, float value = 0) {
  return Node(name, "Const", {},
              Attr("dtype", "type: DT_FLOAT") +
                  Attr("value", absl::StrCat("tensor { dtype: DT_FLOAT tensor_shape { dim { size: "
                                             "4 } } float_val: ",
                                             value, " }")));
}

// s = x + y + x as Grappler spells it, between an Exp and a Neg.
std::string Chain() {
  return Input("x") + Node("y", "Exp", {"x"}) +
         Node("s/var", "TemporaryVariable", {"^y"}, Attr("dtype", "type: DT_FLOAT") + Name("v")) +
         Zeros("s/zeros") + Node("s/init", "Assign", {"s/var", "s/zeros"}) +
         Node("s/accum_10", "AssignAdd", {"s/init", "y:0"}) +
         Node("s/accum_2", "AssignAdd", {"s/init", "x", "^y"}) +
         Node("s/accum_1", "AssignAdd", {"s/init", "x"}) +
         Node("s", "DestroyTemporaryVariable",
              {"s/init", "^s/accum_1", "^s/accum_2", "^s/accum_10"}, Name("v")) +
         Node("z", "Neg", {"s"});
}

int Restored(const std::string& text) {
  graph_def::GraphDef graph = graph_def::ParseGraph(text);
  const size_t before = graph.nodes.size();
  const absl::StatusOr<std::vector<std::string>> restored = RestoreAddN(&graph);
  EXPECT_TRUE(restored.ok()) << restored.status();
  if (!restored.ok()) return -1;
  if (restored->empty()) {
    EXPECT_EQ(graph.nodes.size(), before);
  }
  return static_cast<int>(restored->size());
}

std::string Replaced(absl::string_view from, absl::string_view to) {
  const std::string text = absl::StrReplaceAll(Chain(), {{from, to}});
  EXPECT_NE(text, Chain());
  return text;
}

TEST(RestoreAddN, TurnsTheChainBack) {
  graph_def::GraphDef graph = graph_def::ParseGraph(Chain());
  EXPECT_EQ(*RestoreAddN(&graph), std::vector<std::string>{"s"});
  std::string names;
  for (const auto& node : graph.nodes) absl::StrAppend(&names, node.name, " ");
  EXPECT_EQ(names, "x y s z ");
  const graph_def::NodeDef sum = graph_def::FindNode(graph, "s");
  EXPECT_EQ(sum.op, "AddN");
  EXPECT_EQ(sum.attrs.Int("N", 0), 3);
  EXPECT_EQ(sum.attrs.Find("var_name"), nullptr);
  // As they are numbered; what the chain waited for stays, once.
  EXPECT_EQ(graph_def::Inputs(graph, "s"), "x x y ^y");
}

// Reference types kept what comes before the sum and what comes after apart.
TEST(RestoreAddN, JoinsBothSides) {
  EXPECT_EQ(Clusters(Chain()), "");
  graph_def::GraphDef graph = graph_def::ParseGraph(Chain());
  ASSERT_TRUE(RestoreAddN(&graph).ok());
  const Marking marking = Mark(graph);
  ASSERT_EQ(marking.clusters.size(), 1);
  EXPECT_EQ(marking.clusters[0].nodes.size(), 3);
}

TEST(RestoreAddN, KeepsAConstantThatOthersRead) {
  graph_def::GraphDef graph = graph_def::ParseGraph(Chain() + Node("other", "Neg", {"s/zeros"}));
  EXPECT_EQ(RestoreAddN(&graph)->size(), 1);
  EXPECT_EQ(graph_def::FindNode(graph, "s/zeros").op, "Const");
}

TEST(RestoreAddN, LeavesAloneWhatStartsElsewhere) {
  EXPECT_EQ(Restored(Replaced("float_val: 0", "float_val: 1")), 0);
  EXPECT_EQ(Restored(Replaced("input: 's/zeros'", "input: 'y'")), 0);
}

TEST(RestoreAddN, LeavesAloneWhatOthersSee) {
  for (const char* part : {"s/var", "s/init", "s/accum_1", "^s/var", "^s/init", "^s/accum_1"}) {
    EXPECT_EQ(Restored(Chain() + Node("spy", "Identity", {part})), 0) << part;
  }
}

TEST(RestoreAddN, LeavesAloneWhatDoesNotFit) {
  // Another update among the additions.
  EXPECT_EQ(Restored(Replaced("'AssignAdd'", "'AssignSub'")), 0);
  // The sum does not wait for one of them.
  EXPECT_EQ(Restored(Replaced("input: '^s/accum_2' ", "")), 0);
  // Another variable is destroyed.
  EXPECT_EQ(Restored(Replaced("input: '^s/accum_10'  attr { key: 'var_name' value { s: 'v'",
                              "input: '^s/accum_10'  attr { key: 'var_name' value { s: 'w'")),
            0);
  // Another type.
  EXPECT_EQ(Restored(Replaced("{ key: 'dtype' value { type: DT_FLOAT } }  attr { key: 'var_name'",
                              "{ key: 'dtype' value { type: DT_HALF } }  attr { key: 'var_name'")),
            0);
  // Nothing is added.
  EXPECT_EQ(
      Restored(Input("x") +
               Node("var", "TemporaryVariable", {}, Attr("dtype", "type: DT_FLOAT") + Name("v")) +
               Zeros("zeros") + Node("init", "Assign", {"var", "zeros"}) +
               Node("s", "DestroyTemporaryVariable", {"init"}, Name("v"))),
      0);
}

}  // namespace
}  // namespace tektite::clustering
