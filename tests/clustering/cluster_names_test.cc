// What clusters are called: every cluster of every model was cluster_0.
#include "clustering/cluster_names.h"

#include "tests/clustering/testing.h"

namespace tektite::clustering {
namespace {

// The names of a graph's clusters, "a | b".
std::string Names(const std::string& text, const std::string& function = "") {
  const graph_def::GraphDef graph = graph_def::ParseGraph(text);
  MarkOptions options = Rules();
  options.function = function;
  const Marking marking = Mark(graph, options);
  return absl::StrJoin(marking.clusters, " | ", [](std::string* out, const MarkedCluster& one) {
    absl::StrAppend(out, one.name);
  });
}

// Two ops in `scope`.
std::string Pair(const std::string& scope, const std::string& input) {
  return Node(scope + "/e", "Exp", {input}) + Node(scope + "/n", "Neg", {scope + "/e"});
}

TEST(ClusterNames, AFunctionIsCalledAsTheProgramCallsIt) {
  EXPECT_EQ(ReadableFunction("__inference_train_step_1234"), "train_step");
  EXPECT_EQ(ReadableFunction("__backward_train_step_12"), "train_step (backward)");
  EXPECT_EQ(ReadableFunction("__forward_f_1"), "f");
  EXPECT_EQ(ReadableFunction("while_body_7"), "while_body");
  EXPECT_EQ(ReadableFunction("layer2"), "layer2");
  EXPECT_EQ(ReadableFunction("_7"), "_7");
}

TEST(ClusterNames, TheModelsScopeAndTheFunction) {
  const std::string graph =
      Input("x") + Pair("StatefulPartitionedCall/net/block_1", "x") +
      Pair("StatefulPartitionedCall/net/block_2", "StatefulPartitionedCall/net/block_1/n");
  EXPECT_EQ(Names(graph, "__inference_predict_3"), "net/predict");
  EXPECT_EQ(Names(graph), "net");
}

TEST(ClusterNames, GradientsBelongToTheirModel) {
  EXPECT_EQ(
      Names(Input("x") + Pair("net/dense", "x") + Pair("gradient_tape/net/dense", "net/dense/n"),
            "__inference_step_1"),
      "net/dense/step");
}

TEST(ClusterNames, AScopeOfTheFunctionsNameIsNamedOnce) {
  EXPECT_EQ(Names(Input("x") + Pair("step", "x"), "__inference_step_1"), "step");
}

TEST(ClusterNames, OneOfSeveralHasANumber) {
  const std::string graph = Input("x") + Input("y") + Node("a", "Exp", {"x"}) +
                            Node("b", "Neg", {"a"}) + Node("c", "Exp", {"y"}) +
                            Node("d", "Neg", {"c"});
  EXPECT_EQ(Names(graph, "f"), "f | f#2");
  EXPECT_EQ(Names(graph), "cluster_0 | cluster_1");
}

TEST(ClusterNames, ASignatureIsKnownByItsInputs) {
  EXPECT_EQ(Names(Input("serving_default_x") + Pair("net", "serving_default_x")),
            "net/serving_default");
}

}  // namespace
}  // namespace tektite::clustering
