// Nodes under different conditions, or in different loops, never share a cluster.
#include "clustering/deadness.h"

#include "tests/clustering/testing.h"

namespace tektite::clustering {
namespace {

// if p: y = exp(x) else: y = -x, each branch of two ops, and two ops after the Merge.
std::string Branch(absl::string_view tail) {
  return Input("x") + Input("x2") + Node("p", "Placeholder", {}) + Node("before1", "Exp", {"x"}) +
         Node("before2", "Neg", {"before1"}) + Node("switch", "Switch", {"before2", "p"}) +
         Node("t1", "Exp", {"switch:1"}) + Node("t2", "Neg", {"t1"}) +
         Node("f1", "Exp", {"switch:0"}) + Node("f2", "Neg", {"f1"}) +
         Node("merge", "Merge", {"f2", "t2"}) + std::string(tail);
}

TEST(Deadness, BranchesAreApart) {
  EXPECT_EQ(Clusters(Branch("")), "before1 before2 | t1 t2 | f1 f2");
  EXPECT_EQ(WhyNot(Branch(""), "merge"), "CONTROL_FLOW");
}

TEST(Deadness, NodesOfOneBranchJoin) {
  // A second Switch on the same predicate.
  EXPECT_EQ(Clusters(Branch(Node("switch2", "Switch", {"x2", "p"}) +
                            Node("t3", "AddV2", {"t1", "switch2:1"}))),
            "before1 before2 | t1 t2 t3 | f1 f2");
  // The other side, and another predicate: not.
  EXPECT_EQ(Clusters(Branch(Node("q", "Placeholder", {}) + Node("switch2", "Switch", {"x2", "q"}) +
                            Node("t3", "Exp", {"switch2:1"}) + Node("t4", "AddV2", {"t1", "t3"}))),
            "before1 before2 | t1 t2 | f1 f2");
}

TEST(Deadness, CodeAfterTheMergeIsLikeCodeBeforeTheSwitch) {
  // after2 uses what was computed before the branch: it is as alive as that.
  const graph_def::GraphDef graph = graph_def::ParseGraph(
      Branch(Node("after1", "Exp", {"merge"}) + Node("after2", "AddV2", {"after1", "before1"})));
  absl::StatusOr<graph_def::GraphIndex> index = graph_def::GraphIndex::Create(graph);
  ASSERT_TRUE(index.ok());
  const Deadness deadness(*index);
  auto class_of = [&](absl::string_view name) { return deadness.ClassOf(index->Find(name)); };
  EXPECT_EQ(class_of("after2"), 0);
  EXPECT_EQ(class_of("after1"), class_of("before1"));
  EXPECT_EQ(class_of("merge"), 0);
  EXPECT_NE(class_of("t1"), class_of("f1"));
  EXPECT_NE(class_of("t1"), 0);
  EXPECT_EQ(class_of("switch"), 0);
}

TEST(Deadness, StraightCodeAfterAMergeStillClusters) {
  EXPECT_EQ(Clusters(Branch(Node("after1", "Exp", {"merge"}) + Node("after2", "Neg", {"after1"}))),
            "before1 before2 | t1 t2 | f1 f2 | after1 after2");
}

TEST(Deadness, NestedBranchesAndManyWaySwitches) {
  const graph_def::GraphDef graph = graph_def::ParseGraph(
      Input("x") + Node("p", "Placeholder", {}) + Node("q", "Placeholder", {}) +
      Node("s", "Switch", {"x", "p"}) + Node("s2", "Switch", {"s:1", "q"}) +
      Node("inner", "Merge", {"s2", "s2:1"}) + Node("outer", "Merge", {"inner", "s"}) +
      Node("w", "_SwitchN", {"x", "q"}, Attr("num_outs", "i: 3")) +
      Node("all", "Merge", {"w", "w:1", "w:2"}) + Node("two", "Merge", {"w", "w:1"}));
  absl::StatusOr<graph_def::GraphIndex> index = graph_def::GraphIndex::Create(graph);
  ASSERT_TRUE(index.ok());
  const Deadness deadness(*index);
  EXPECT_EQ(deadness.ClassOf(index->Find("outer")), 0);
  EXPECT_NE(deadness.ClassOf(index->Find("inner")), 0);
  EXPECT_EQ(deadness.ClassOf(index->Find("all")), 0);
  EXPECT_NE(deadness.ClassOf(index->Find("two")), 0);
}

TEST(Deadness, ConstantsBringTheirBranchAlong) {
  // In a branch without arguments only the constant's control edge says where it runs.
  const std::string graph = Input("x") + Node("p", "Placeholder", {}) +
                            Node("s", "Switch", {"p", "p"}) + Node("pivot", "Identity", {"s:1"}) +
                            Ints("c", {1, 2}, {"^pivot"}) + Node("a", "AddV2", {"x", "c"}) +
                            Node("b", "Neg", {"a"}) + Node("other1", "Exp", {"x"}) +
                            Node("other2", "AddV2", {"other1", "b"});
  const graph_def::GraphDef parsed = graph_def::ParseGraph(graph);
  absl::StatusOr<graph_def::GraphIndex> index = graph_def::GraphIndex::Create(parsed);
  ASSERT_TRUE(index.ok());
  const Deadness deadness(*index);
  EXPECT_NE(deadness.ClassOf(index->Find("a")), 0);
  EXPECT_EQ(deadness.ClassOf(index->Find("a")), deadness.ClassOf(index->Find("b")));
  EXPECT_EQ(deadness.ClassOf(index->Find("other1")), 0);
}

// while (i < n) { x = neg(exp(x)) }; out = neg(exp(x))
std::string Loop(absl::string_view second_next = "x_neg") {
  const std::string frame = Attr("frame_name", "s: 'loop'");
  return Input("x0") + Node("n0", "Placeholder", {}) + Node("pre1", "Exp", {"x0"}) +
         Node("pre2", "Neg", {"pre1"}) + Node("n_enter", "Enter", {"n0"}, frame) +
         Node("x_enter", "Enter", {"pre2"}, frame) +
         Node("n_merge", "Merge", {"n_enter", "n_next"}) +
         Node("x_merge", "Merge", {"x_enter", "x_next"}) +
         Node("less", "Less", {"n_merge", "n_merge"}) + Node("cond", "LoopCond", {"less"}) +
         Node("n_switch", "Switch", {"n_merge", "cond"}) +
         Node("x_switch", "Switch", {"x_merge", "cond"}) + Node("x_exp", "Exp", {"x_switch:1"}) +
         Node("x_neg", "Neg", {"x_exp"}) + Node("n_add", "AddV2", {"n_switch:1", "n_switch:1"}) +
         Node("n_next", "NextIteration", {"n_add"}) +
         Node("x_next", "NextIteration", {second_next}) + Node("x_exit", "Exit", {"x_switch"}) +
         Node("post1", "Exp", {"x_exit"}) + Node("post2", "AddV2", {"post1", "pre1"});
}

TEST(Deadness, LoopBodiesAreApartFromWhatSurroundsThem) {
  EXPECT_EQ(Clusters(Loop()), "pre1 pre2 | x_exp x_neg | post1 post2");
}

TEST(Deadness, AllOfALoopIterationIsAliveTogether) {
  const graph_def::GraphDef graph = graph_def::ParseGraph(Loop());
  absl::StatusOr<graph_def::GraphIndex> index = graph_def::GraphIndex::Create(graph);
  ASSERT_TRUE(index.ok());
  const Deadness deadness(*index);
  auto class_of = [&](absl::string_view name) { return deadness.ClassOf(index->Find(name)); };
  EXPECT_EQ(class_of("x_exp"), class_of("n_add"));
  EXPECT_EQ(class_of("x_merge"), class_of("n_merge"));
  EXPECT_NE(class_of("x_merge"), class_of("x_exp"));  // the last iteration has no body
  EXPECT_EQ(class_of("post1"), class_of("pre1"));
  EXPECT_NE(class_of("x_exp"), class_of("pre1"));
}

TEST(Deadness, ALoopVariableThatDiesEarlierIsApart) {
  // x goes round only under one more condition than n.
  const std::string graph = Loop("x_maybe:1") + Node("x_maybe", "Switch", {"x_neg", "less"});
  const graph_def::GraphDef parsed = graph_def::ParseGraph(graph);
  absl::StatusOr<graph_def::GraphIndex> index = graph_def::GraphIndex::Create(parsed);
  ASSERT_TRUE(index.ok());
  const Deadness deadness(*index);
  EXPECT_NE(deadness.ClassOf(index->Find("x_merge")), deadness.ClassOf(index->Find("n_merge")));
  EXPECT_NE(deadness.ClassOf(index->Find("x_exp")), deadness.ClassOf(index->Find("n_add")));
}

}  // namespace
}  // namespace tektite::clustering
