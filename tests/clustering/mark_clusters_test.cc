// Which nodes share a cluster: one test for each rule, with a case that joins and one that does
// not.
#include "clustering/mark_clusters.h"

#include <random>

#include "tests/clustering/testing.h"

namespace tektite::clustering {
namespace {

TEST(MarkClusters, JoinsWhatIsConnected) {
  EXPECT_EQ(Clusters(Input("x") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) +
                     Node("c", "Mul", {"a", "b"})),
            "a b c");
}

TEST(MarkClusters, KeepsApartWhatNothingConnects) {
  EXPECT_EQ(Clusters(Input("x") + Input("y") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) +
                     Node("c", "Exp", {"y"}) + Node("d", "Neg", {"c"})),
            "a b | c d");
}

// a -> host -> d, a -> d: in one cluster, host would have to run inside it.
TEST(MarkClusters, MakesNoCycle) {
  const std::string graph = Input("x") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) +
                            Node("host", "PyFunc", {"b"}) + Node("c", "Exp", {"host"}) +
                            Node("d", "AddV2", {"c", "b"});
  EXPECT_EQ(Clusters(graph), "a b | c d");
  EXPECT_EQ(WhyNot(graph, "host"), "NO_IMPORTER");
}

TEST(MarkClusters, MakesNoCycleThroughControlEdges) {
  EXPECT_EQ(Clusters(Input("x") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) +
                     Node("host", "PyFunc", {"^b"}) + Node("c", "Exp", {"b", "^host"}) +
                     Node("d", "Neg", {"c"})),
            "a b | c d");
}

// Only the later cluster needs w: it does not become an output of the first one.
TEST(MarkClusters, ComputesWhereItIsUsed) {
  EXPECT_EQ(Clusters(Input("x") + Input("y") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) +
                     Node("host", "PyFunc", {"b"}) + Node("w", "Exp", {"y"}) +
                     Node("c", "Mul", {"w", "host"}) + Node("d", "Neg", {"c"})),
            "a b | w c d");
}

// A value that enters the loop leaves it as another one, some turns later: a node before the loop
// and one behind it share no cluster.
TEST(MarkClusters, MakesNoCycleThroughTurnsOfALoop) {
  const auto enter = [](absl::string_view name, absl::string_view value) {
    return Node(name, "Enter", {value}, Attr("frame_name", "s: 'loop'"));
  };
  const std::string graph =
      Input("x") + Input("y") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) +
      enter("in", "b") + enter("other", "y") + Node("m", "Merge", {"in", "n"}) +
      Node("k", "Merge", {"other", "o"}) + Node("condition", "LoopCond", {"k"}) +
      Node("s", "Switch", {"m", "condition"}) + Node("t", "Switch", {"k", "condition"}) +
      Node("n", "NextIteration", {"s:1"}) + Node("o", "NextIteration", {"s:1"}) +
      Node("out", "Exit", {"t"}) + Node("c", "AddV2", {"out", "b"}) + Node("d", "Neg", {"c"});
  EXPECT_EQ(Clusters(graph), "a b | c d");
}

TEST(MarkClusters, CarriesControlEdgesThroughNoOps) {
  EXPECT_EQ(Clusters(Input("x") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) +
                     Node("group", "NoOp", {"^a"}) + Node("c", "Exp", {"b", "^group"})),
            "a b group c");
  // One that leads out only is no part of it.
  EXPECT_EQ(Clusters(Input("x") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) +
                     Node("group", "NoOp", {"^b"})),
            "a b");
}

std::string Variable(absl::string_view name) {
  return Node(name, "_Arg", {},
              Attr("_handle_shapes", "list { shape { dim { size: 1024 } dim { size: 1024 } } }"));
}
std::string Read(absl::string_view name, std::initializer_list<absl::string_view> inputs) {
  return Node(name, "ReadVariableOp", inputs, Attr("dtype", "type: DT_FLOAT"));
}

// read, write, read again: the second read may not move before the write.
std::string ReadWriteRead(absl::string_view writer) {
  return Variable("v") + Read("r1", {"v"}) + Node("a", "Exp", {"r1"}) + Node("a2", "Neg", {"a"}) +
         Node("write", writer, {"v", "a2"}, Attr("validate_shape", "b: true")) +
         Read("r2", {"v", "^write"}) + Node("b", "Exp", {"r2"}) + Node("c", "AddV2", {"a", "b"});
}

TEST(MarkClusters, KeepsReadsAndWritesOfVariablesInOrder) {
  EXPECT_EQ(Clusters(ReadWriteRead("AssignVariableOp")), "r1 a a2 write r2 b c");
  EXPECT_EQ(Clusters(ReadWriteRead("ResourceScatterUpdate")), "r1 a a2 write r2 b c");
  EXPECT_EQ(Clusters(ReadWriteRead("ResourceCountUpTo")), "r1 a a2 | r2 b c");
}

TEST(MarkClusters, AssigningIsNoWorkOfItsOwn) {
  EXPECT_EQ(
      Clusters(Variable("v") + Input("x") + Node("a", "Neg", {"x"}) +
               Node("write", "AssignVariableOp", {"v", "a"}, Attr("validate_shape", "b: true"))),
      "");
}

TEST(MarkClusters, LeavesOutAssignmentsThatTheHostWouldHaveToMake) {
  const auto graph = [](absl::string_view attrs) {
    return Variable("v") + Input("x") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) +
           Node("write", "AssignVariableOp", {"v", "b"}, attrs);
  };
  const std::string same_shape = Attr("validate_shape", "b: true");
  EXPECT_EQ(Clusters(graph(same_shape)), "a b write");
  EXPECT_EQ(Clusters(graph("")), "a b");
  EXPECT_EQ(WhyNot(graph(""), "write"), "DATA_DEPENDENT_SHAPE");
  EXPECT_EQ(
      Clusters(graph(same_shape) + Node("rows", "ResourceScatterAdd", {"v", "x", "x", "^write"})),
      "a b write rows");
  // On a card it makes both.
  const std::string card = "/job:localhost/replica:0/task:0/device:GPU:0";
  const std::string there = " device: '" + card + "' ";
  const std::string rows = Variable("v") + Input("x") + Node("a", "Exp", {"x"}, there) +
                           Node("b", "Neg", {"a"}, there) +
                           Node("write", "AssignVariableOp", {"v", "b"}, same_shape + there) +
                           Node("rows", "ResourceScatterAdd", {"v", "x", "x", "^write"}, there);
  MarkOptions options = Rules();
  options.card_devices = {card};
  EXPECT_EQ(Clusters(rows, options), "a b");
  EXPECT_EQ(WhyNot(rows, "write", options), "HOST_IS_FASTER");
  EXPECT_EQ(WhyNot(rows, "rows", options), "HOST_IS_FASTER");
}

TEST(MarkClusters, ReadsJoinWhereNothingIsWritten) {
  EXPECT_EQ(Clusters(Variable("v") + Read("r1", {"v"}) + Node("a", "Exp", {"r1"}) +
                     Read("r2", {"v", "^a"}) + Node("c", "AddV2", {"a", "r2"})),
            "r1 a r2 c");
}

TEST(MarkClusters, WriteAfterReadStaysAfter) {
  const auto graph = [](absl::string_view writer) {
    return Variable("v") + Read("r", {"v"}) + Node("a", "Exp", {"r"}) + Node("b", "Neg", {"a"}) +
           Node("write", writer, {"v", "b", "^r"});
  };
  EXPECT_EQ(Clusters(graph("AssignAddVariableOp")), "r a b write");
  // The write waits for the read, so it waits for the whole cluster.
  EXPECT_EQ(Clusters(graph("ResourceCountUpTo")), "r a b");
}

std::string OnDevice(absl::string_view device) {
  return absl::StrCat(" device: '/job:localhost/replica:0/task:0/device:", device, "' ");
}

TEST(MarkClusters, OneDeviceACluster) {
  auto graph = [](absl::string_view second) {
    return Input("x") + Node("a", "Exp", {"x"}, OnDevice("CPU:0")) +
           Node("b", "Neg", {"a"}, OnDevice("CPU:0")) + Node("c", "Exp", {"b"}, OnDevice(second)) +
           Node("d", "Neg", {"c"}, OnDevice(second));
  };
  EXPECT_EQ(Clusters(graph("CPU:0")), "a b c d");
  EXPECT_EQ(Clusters(graph("CPU:1")), "a b | c d");
  EXPECT_EQ(Clusters(graph("GPU:0")), "a b");
  EXPECT_EQ(WhyNot(graph("GPU:0"), "c"), "DEVICE");
  MarkOptions options = Rules();
  options.device_types = {"CPU", "GPU"};
  EXPECT_EQ(Clusters(graph("GPU:0"), options), "a b | c d");
}

// A card counts where the host has named it, under the name that nodes have.
TEST(MarkClusters, CardsThatAreNamed) {
  auto graph = [](absl::string_view first, absl::string_view second) {
    return Input("x") + Node("a", "Exp", {"x"}, OnDevice(first)) +
           Node("b", "Neg", {"a"}, OnDevice(first)) + Node("c", "Exp", {"b"}, OnDevice(second)) +
           Node("d", "Neg", {"c"}, OnDevice(second)) + Node("e", "Exp", {"d"}, OnDevice(first)) +
           Node("f", "Neg", {"e"}, OnDevice(first));
  };
  MarkOptions options = Rules();
  options.card_devices = {"/job:localhost/replica:0/task:0/device:GPU:1"};
  EXPECT_EQ(Clusters(graph("GPU:1", "CPU:0"), options), "a b | c d | e f");
  EXPECT_EQ(Clusters(graph("GPU:1", "GPU:0"), options), "a b | e f");
  EXPECT_EQ(WhyNot(graph("GPU:1", "GPU:0"), "c", options), "DEVICE");
  EXPECT_EQ(Clusters(graph("GPU:0", "CPU:0"), options), "c d");
}

TEST(MarkClusters, OneScopeACluster) {
  auto graph = [](absl::string_view second) {
    const std::string first = Attr("_XlaScope", "s: 'one'");
    const std::string other = Attr("_XlaScope", absl::StrCat("s: '", second, "'"));
    return Input("x") + Node("a", "Exp", {"x"}, first) + Node("b", "Neg", {"a"}, first) +
           Node("c", "Exp", {"b"}, other) + Node("d", "Neg", {"c"}, other);
  };
  EXPECT_EQ(Clusters(graph("one")), "a b c d");
  EXPECT_EQ(Clusters(graph("two")), "a b | c d");
}

TEST(MarkClusters, RespectsAnnotations) {
  const std::string yes = Attr("_XlaCompile", "b: true");
  const std::string no = Attr("_XlaCompile", "b: false");
  const std::string graph = Input("x") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) +
                            Node("c", "Exp", {"b"}, no) + Node("d", "Exp", {"c"}, yes) +
                            Node("e", "Neg", {"d"}, yes);
  EXPECT_EQ(Clusters(graph), "a b | d e");
  EXPECT_EQ(WhyNot(graph, "c"), "XLA_COMPILE_FALSE");
  MarkOptions scoped = Rules();
  scoped.mode = MarkMode::kScoped;
  EXPECT_EQ(Clusters(graph, scoped), "d e");
  EXPECT_EQ(WhyNot(graph, "a", scoped), "NOT_ANNOTATED");
  EXPECT_EQ(WhyNot(graph, "c", scoped), "XLA_COMPILE_FALSE");
}

TEST(MarkClusters, LeavesWhatAnotherCompilerMustCompile) {
  EXPECT_EQ(WhyNot(Input("x") + Node("a", "Exp", {"x"}, Attr("_XlaMustCompile", "b: true")), "a"),
            "MUST_COMPILE");
  EXPECT_EQ(
      WhyNot(Input("x") + Node("a", "PartitionedCall", {"x"}, Attr("_XlaMustCompile", "b: true")),
             "a"),
      "MUST_COMPILE");
}

TEST(MarkClusters, LeavesTypesThatAreNotCompiled) {
  const std::string text = "attr { key: 'Tout' value { type: DT_STRING } }";
  EXPECT_EQ(WhyNot(Input("x") + Node("a", "Relu", {"x"},
                                     Attr("U", "list { type: [DT_FLOAT, DT_COMPLEX64] }")),
                   "a"),
            "UNSUPPORTED_TYPE");
  const std::string complex = Attr("Tx", "type: DT_COMPLEX64");
  EXPECT_EQ(
      Clusters(Input("x") + Node("a", "Neg", {"x"}, complex) + Node("b", "Real", {"a"}, complex)),
      "a b");
  EXPECT_EQ(WhyNot(Input("x") + Node("a", "Tan", {"x"}, complex), "a"), "UNSUPPORTED_TYPE");
  EXPECT_EQ(WhyNot(Input("x") + Node("a", "Exp", {"x"}, text), "a"), "UNSUPPORTED_TYPE");
  // TensorFlow has no Where of this type, and the user must see its error.
  EXPECT_EQ(WhyNot(Input("x") + absl::StrCat("node { name: 'a' op: 'Where' input: 'x' ",
                                             Attr("T", "type: DT_HALF"), "}\n"),
                   "a"),
            "UNSUPPORTED_TYPE");
  // Attributes of the framework's own say nothing about the op.
  EXPECT_EQ(WhyNot(Input("x") + Node("a", "Exp", {"x"}, Attr("_hint", "type: DT_STRING")) +
                       Node("b", "Neg", {"a"}),
                   "a"),
            "NONE");
}

// Spread out by strides they are mostly zeros: compiled so, one took three times as long.
TEST(MarkClusters, LeavesTransposedConvolutionsOfVolumesWithManyPhases) {
  auto graph = [](absl::string_view strides) {
    return Input("x") + Ints("sizes", {1, 8, 8, 8, 4}) +
           Node("a", "Conv3DBackpropInputV2", {"sizes", "x", "x"},
                Attr("strides", absl::StrCat("list { i: [", strides, "] }"))) +
           Node("b", "Neg", {"a"});
  };
  EXPECT_EQ(WhyNot(graph("1, 3, 3, 2, 1"), "a"), "HOST_IS_FASTER");
  EXPECT_EQ(WhyNot(graph("1, 2, 2, 2, 1"), "a"), "NONE");
  EXPECT_EQ(WhyNot(graph("1, 1, 1, 1, 1"), "a"), "NONE");
}

TEST(MarkClusters, IsCutWhereShapesDependOnValuesAndGoesOnBehind) {
  const std::string graph = Input("x") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) +
                            Node("rows", "RaggedRange", {"b", "b", "b"}) +
                            Node("c", "Abs", {"rows"}) + Node("d", "Neg", {"c"}) +
                            Node("host", "PyFunc", {"d"});
  EXPECT_EQ(Clusters(graph), "a b | c d");
  EXPECT_EQ(WhyNot(graph, "rows"), "DATA_DEPENDENT_SHAPE");
  EXPECT_EQ(WhyNot(graph, "host"), "NO_IMPORTER");
}

// What an assertion prints is not computed with.
TEST(MarkClusters, TakesAssertionsWithTheirMessages) {
  const std::string text = Node("text", "Const", {}, Attr("dtype", "type: DT_STRING"));
  const auto check = [](absl::string_view data, absl::string_view types) {
    return absl::StrCat("node { name: 'check' op: 'Assert' input: 'ok' ", data,
                        " attr { key: 'T' value { list { type: [", types, "] } } } }\n");
  };
  const std::string begin = Input("x") + Node("a", "Exp", {"x"}) + Node("ok", "IsFinite", {"a"}) +
                            Node("b", "Neg", {"a"});
  const std::string holds = begin + text + check("input: 'text' input: 'a'", "DT_STRING, DT_FLOAT");
  EXPECT_EQ(WhyNot(holds, "check"), "NONE");
  EXPECT_EQ(WhyNot(holds, "text"), "NONE");
  // A text that is made of values, and one that another op reads.
  EXPECT_EQ(WhyNot(begin + Node("made", "AsString", {"a"}) + check("input: 'made'", "DT_STRING"),
                   "check"),
            "UNSUPPORTED_TYPE");
  EXPECT_EQ(WhyNot(holds + Node("length", "StringLength", {"text"}), "text"), "UNSUPPORTED_TYPE");
}

// Where's number of rows is known when it has run: nodes that need the number belong to another
// cluster.
TEST(MarkClusters, EndsWithOpsWhoseValuesDecideHowManyRowsThereAre) {
  const std::string begin = Input("x") + Node("a", "Exp", {"x"}) + Node("rows", "Where", {"a"});
  EXPECT_EQ(Clusters(begin + Node("c", "Abs", {"rows"}) + Node("d", "Neg", {"c"})), "a rows | c d");
  // tf.boolean_mask: which rows there are does not matter to who gathers them, nor how many.
  const std::string squeeze = Attr("squeeze_dims", "list { i: 1 }");
  const std::string gather = begin + Ints("axis", {0}) + Node("s", "Squeeze", {"rows"}, squeeze) +
                             Node("g", "GatherV2", {"x", "s", "axis"});
  EXPECT_EQ(Clusters(gather), "a rows axis s g");
  EXPECT_EQ(Clusters(gather + Node("b", "Abs", {"g"}) + Node("c", "Neg", {"b"})),
            "a rows axis s g | b c");
  // ... along another dimension it does.
  EXPECT_EQ(Clusters(begin + Ints("axis", {1}) + Node("s", "Squeeze", {"rows"}, squeeze) +
                     Node("g", "GatherV2", {"x", "s", "axis"}) + Node("c", "Neg", {"g"})),
            "a rows s | axis g c");
  EXPECT_EQ(Clusters(begin + Node("s", "Squeeze", {"rows"}) + Node("c", "Neg", {"s"})),
            "a rows | s c");
}

// An optimizer adds up the rows of a gradient that are for one row of the variable.
TEST(MarkClusters, GoesOnBehindUniqueIndicesOfAGradient) {
  const std::string handle = Node("v", "VarHandleOp", {}, Attr("dtype", "type: DT_FLOAT"));
  const std::string begin = handle + Input("x") + Input("i") + Ints("zero", {0}) +
                            Ints("one", {1}) + Node("a", "Exp", {"x"}) +
                            Node("u", "Unique", {"i"}) + Node("n", "Shape", {"u"});
  const auto first = [](int mask) {
    return Node("s", "StridedSlice", {"n", "zero", "one", "one"},
                Attr("shrink_axis_mask", absl::StrCat("i: ", mask)));
  };
  const std::string sum = Node("sum", "UnsortedSegmentSum", {"a", "u:1", "s"});
  const std::string update = Node("w", "ResourceScatterAdd", {"v", "u", "sum"});
  EXPECT_EQ(Clusters(begin + first(1) + sum + update), "zero one a u n s sum w");
  // The number of rows is wanted for something else, too; nobody stays with the indices.
  EXPECT_EQ(Clusters(begin + first(1) + sum + update + Node("z", "Neg", {"s"})),
            "zero one a n s sum w z");
  // That is not the number of rows.
  EXPECT_EQ(Clusters(begin + first(0) + sum + update), "zero one a n s sum w");
}

// Stitching together sizes is arithmetic; a stitch at known places has a known size.
TEST(MarkClusters, GoesOnBehindStitchesOfKnownSize) {
  const std::string begin = Input("x") + Input("i") + Node("a", "Exp", {"x"});
  EXPECT_EQ(Clusters(begin + Node("s", "DynamicStitch", {"i", "a"}) + Node("c", "Neg", {"s"}) +
                     Node("d", "Abs", {"c"})),
            "a s | c d");
  EXPECT_EQ(Clusters(begin + Ints("at", {0, 1}) + Node("s", "DynamicStitch", {"at", "a"}) +
                     Node("c", "Neg", {"s"})),
            "a at s c");
  EXPECT_EQ(Clusters(begin + Ints("at", {0, 1}) + Node("n", "Shape", {"x"}) +
                     Node("r", "Shape", {"a"}) + Node("s", "DynamicStitch", {"at", "r", "n", "r"}) +
                     Node("c", "Reshape", {"a", "s"})),
            "a at n r s c");
}

TEST(MarkClusters, UniqueAlongOtherDimensionsThanTheFirstIsACut) {
  const std::string text = Input("x") + Node("a", "Exp", {"x"}) + Ints("axis", {1}) +
                           Node("u", "UniqueV2", {"a", "axis"}) + Node("c", "Neg", {"a"});
  EXPECT_EQ(WhyNot(text, "u"), "DATA_DEPENDENT_SHAPE");
}

TEST(MarkClusters, LeavesReferencesFetchesAndBoundaries) {
  EXPECT_EQ(WhyNot(Node("v", "VariableV2", {}) + Node("a", "Exp", {"v"}), "a"), "REF_INPUT");
  EXPECT_EQ(WhyNot(Node("v", "_Recv", {}) + Node("a", "Exp", {"v"}), "v"), "HOST_BOUNDARY");
  MarkOptions options = Rules();
  options.fetches = {"b"};
  const std::string graph =
      Input("x") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) + Node("c", "Exp", {"a"});
  EXPECT_EQ(WhyNot(graph, "b", options), "FETCHED");
  EXPECT_EQ(Clusters(graph, options), "a c");
}

TEST(MarkClusters, ConstantsGoToAllWhoUseThem) {
  const std::string graph = Input("x") + Ints("axis", {0}) + Node("a", "Exp", {"x"}) +
                            Node("b", "Sum", {"a", "axis"}) + Node("host", "PyFunc", {"b"}) +
                            Node("c", "Exp", {"host"}) + Node("d", "Sum", {"c", "axis"}) +
                            Node("e", "MatMul", {"d", "d"});
  EXPECT_EQ(Clusters(graph), "axis a b | axis c d e");
}

TEST(MarkClusters, WhatAConstantWaitsForItsUsersWaitFor) {
  // host -> (control) -> axis -> d, with a before host: no one cluster for a and d.
  EXPECT_EQ(Clusters(Input("x") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) +
                     Node("host", "PyFunc", {"b"}) + Ints("axis", {0}, {"^host"}) +
                     Node("c", "Exp", {"b"}) + Node("d", "Sum", {"c", "axis"})),
            "a b | axis c d");
}

TEST(MarkClusters, RefusesBrokenGraphs) {
  const graph_def::GraphDef graph = graph_def::ParseGraph(Node("a", "Exp", {"gone"}));
  EXPECT_FALSE(MarkClusters(graph, MarkOptions()).ok());
}

// Every path between two members of a cluster stays inside.
void ExpectNoCycle(const graph_def::GraphDef& graph, const Marking& marking) {
  absl::StatusOr<graph_def::GraphIndex> index = graph_def::GraphIndex::Create(graph);
  ASSERT_TRUE(index.ok());
  for (size_t c = 0; c < marking.clusters.size(); ++c) {
    // Nodes outside that are behind the cluster.
    std::vector<bool> behind(graph.nodes.size(), false);
    for (int node : index->order()) {
      const bool member = marking.cluster_of[node] == static_cast<int>(c);
      for (const auto& in : index->inputs(node)) {
        if (graph.nodes[in.node].op == "Const") continue;
        if (member) {
          ASSERT_FALSE(behind[in.node]) << graph.nodes[node].name;
        } else if (behind[in.node] || marking.cluster_of[in.node] == static_cast<int>(c)) {
          behind[node] = true;
        }
      }
    }
  }
}

TEST(MarkClusters, RandomGraphsHaveNoCycles) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string text = Input("n0");
    const int nodes = 60;
    for (int i = 1; i < nodes; ++i) {
      const std::string a = absl::StrCat(random() % 3 == 0 ? "^n" : "n", random() % i);
      const std::string b = absl::StrCat("n", random() % i);
      const char* op = random() % 4 == 0 ? "PyFunc" : random() % 8 == 0 ? "NoOp" : "AddV2";
      text += Node(absl::StrCat("n", i), op, {b, a},
                   random() % 5 == 0 ? Attr("_XlaScope", "s: 's'") : "");
    }
    const graph_def::GraphDef graph = graph_def::ParseGraph(text);
    ExpectNoCycle(graph, Mark(graph));
  }
}

// Marking runs for each function of a program: it has to be quick.  10,000 nodes take about 15 ms;
// a step for each pair of these would outlast the time that a test may take.
TEST(MarkClusters, EndsOnHugeGraphs) {
  std::string text = Input("n0");
  for (int i = 1; i < 200000; ++i) {
    const int other = std::max(0, i - 1 - (i * 7919) % 50);
    text += Node(absl::StrCat("n", i), i % 97 == 0 ? "PyFunc" : "AddV2",
                 {absl::StrCat("n", i - 1), absl::StrCat("n", other)});
  }
  EXPECT_GT(Mark(graph_def::ParseGraph(text)).clusters.size(), 1000u);
}

}  // namespace
}  // namespace tektite::clustering
