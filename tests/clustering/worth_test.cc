// Clusters that are worth compiling, and outputs that are not worth having.
#include "clustering/cost.h"
#include "tests/clustering/testing.h"

namespace tektite::clustering {
namespace {

std::string Sized(absl::string_view name, absl::string_view shape) {
  return Node(name, "Placeholder", {}, Attr("shape", absl::StrCat("shape { ", shape, " }")));
}
// With the defaults of a user.
std::string Worthy(absl::string_view graph) { return Clusters(graph, MarkOptions()); }
std::string WhyNotWorthy(absl::string_view graph, absl::string_view node) {
  return WhyNot(graph, node, MarkOptions());
}

std::string TwoOps(absl::string_view shape) {
  return Sized("x", shape) + Node("a", "Mul", {"x", "x"}) + Node("b", "AddV2", {"a", "x"});
}

TEST(Worth, TwoCheapOpsOnLittleDataAreNot) {
  EXPECT_EQ(Worthy(TwoOps("dim { size: 4 }")), "");
  EXPECT_EQ(WhyNotWorthy(TwoOps("dim { size: 4 }"), "a"), "TOO_SMALL");
  EXPECT_EQ(Worthy(TwoOps("unknown_rank: true")), "");
}

TEST(Worth, TwoCheapOpsOnMuchDataAre) {
  EXPECT_EQ(Worthy(TwoOps("dim { size: 512 } dim { size: 1024 }")), "a b");
}

// A call may bring any size; which side is faster at it is measured then.
TEST(Worth, OpsOnASizeThatTheGraphLeavesOpenAre) {
  EXPECT_EQ(Worthy(TwoOps("dim { size: -1 }")), "a b");
  EXPECT_EQ(Worthy(TwoOps("dim { size: -1 } dim { size: 4 }")), "a b");
  const std::string x = Sized("x", "dim { size: -1 }");
  EXPECT_EQ(Worthy(x + Node("a", "Where", {"x"})), "a");
  EXPECT_EQ(Worthy(x + Node("a", "Softmax", {"x"})), "a");
  EXPECT_EQ(WhyNotWorthy(x + Node("a", "AddV2", {"x", "x"}), "a"), "TOO_SMALL");
}

// Input pipelines, and the functions in which Keras slices the arrays it is given.
TEST(Worth, OpsThatOnlyMoveDataAreNot) {
  const std::string x = Sized("x", "dim { size: -1 }");
  EXPECT_EQ(WhyNotWorthy(x + Ints("s", {-1}) + Node("a", "ConcatV2", {"x", "x", "s"}) +
                             Node("b", "Pack", {"a", "a"}),
                         "b"),
            "TOO_SMALL");
}

TEST(Worth, OpenSizesAreFollowedThroughOpsThatMoveData) {
  const std::string x = Sized("x", "dim { size: -1 } dim { size: 4 }");
  const std::string two = Node("a", "Mul", {"r", "r"}) + Node("b", "AddV2", {"a", "r"});
  const std::string shape = Ints("s", {-1});
  const std::string index = Attr("Tidx", "type: DT_INT32");
  EXPECT_THAT(Worthy(x + shape + Node("r", "Reshape", {"x", "s"}) + two),
              testing::HasSubstr("a b"));
  // The result of all its elements is small.
  const std::string cut =
      Node("sum", "Sum", {"x", "s"}, index) + Node("r", "StringLength", {"sum"});
  EXPECT_EQ(WhyNotWorthy(x + shape + cut + two, "a"), "TOO_SMALL");
}

TEST(Worth, AMatrixProductIsEvenIfShapesAreUnknown) {
  EXPECT_EQ(Worthy(Sized("x", "unknown_rank: true") + Node("a", "MatMul", {"x", "x"}) +
                   Node("b", "Exp", {"a"})),
            "a b");
}

// The estimate divided by the work per element, which ended TensorFlow's process.
TEST(Worth, AProductWithoutColumnsCostsWhatALaunchDoes) {
  for (const char* shape : {"dim { size: 0 } dim { size: 0 }", "dim { size: 4 } dim { size: 0 }"}) {
    EXPECT_EQ(WhyNotWorthy(Sized("x", shape) + Node("a", "MatMul", {"x", "x"}), "a"), "TOO_SMALL");
    EXPECT_EQ(WhyNotWorthy(Sized("x", shape) + Node("a", "Conv2D", {"x", "x"}), "a"), "TOO_SMALL");
  }
}

TEST(Worth, ManySmallOpsAre) {
  std::string graph = Sized("x", "dim { size: 4 }") + Node("n0", "Neg", {"x"});
  for (int i = 1; i < 12; ++i) {
    graph += Node(absl::StrCat("n", i), "Neg", {absl::StrCat("n", i - 1)});
  }
  EXPECT_EQ(WhyNotWorthy(graph, "n5"), "NONE");
}

TEST(Worth, AnOpThatGainsAloneIsOnMuchData) {
  const std::string large = Sized("x", "dim { size: 512 } dim { size: 1024 }");
  const std::string small = Sized("x", "dim { size: 8 } dim { size: 1024 }");
  EXPECT_EQ(Worthy(large + Node("a", "Softmax", {"x"})), "a");
  EXPECT_EQ(WhyNotWorthy(small + Node("a", "Softmax", {"x"}), "a"), "TOO_SMALL");
  EXPECT_EQ(WhyNotWorthy(Sized("x", "unknown_rank: true") + Node("a", "Softmax", {"x"}), "a"),
            "TOO_SMALL");
  EXPECT_EQ(Worthy(large + Node("a", "Where", {"x"})), "a");
  EXPECT_EQ(WhyNotWorthy(small + Node("a", "Where", {"x"}), "a"), "TOO_SMALL");
  // An op that the host's kernel does as well, however large it is.
  EXPECT_EQ(WhyNotWorthy(large + Node("a", "AddV2", {"x", "x"}), "a"), "TOO_SMALL");
  EXPECT_EQ(WhyNotWorthy(large + Node("a", "MatMul", {"x", "x"}), "a"), "TOO_SMALL");
  const std::string axes = Ints("axes", {-1});
  EXPECT_THAT(
      Worthy(large + axes + Node("a", "Sum", {"x", "axes"}, Attr("Tidx", "type: DT_INT32"))),
      testing::HasSubstr("a"));
}

TEST(Worth, ABatchNormGainsAloneWhereItsStatisticsAreGiven) {
  const std::string input =
      Sized("x", "dim { size: 8 } dim { size: 32 } dim { size: 32 } dim { size: 64 }") +
      Sized("c", "dim { size: 64 }");
  const auto norm = [&](absl::string_view training) {
    return input +
           Node("a", "FusedBatchNormV3", {"x", "c", "c", "c", "c"},
                Attr("is_training", absl::StrCat("b: ", training)) + Attr("U", "type: DT_FLOAT"));
  };
  EXPECT_EQ(Worthy(norm("false")), "a");
  EXPECT_EQ(WhyNotWorthy(norm("true"), "a"), "TOO_SMALL");
}

TEST(Worth, FlagsDecide) {
  MarkOptions options;
  options.min_cluster_cost = 0;
  EXPECT_EQ(Clusters(TwoOps("dim { size: 4 }"), options), "a b");
  options.min_cluster_ops = 3;
  EXPECT_EQ(Clusters(TwoOps("dim { size: 4 }"), options), "");
  options.min_cluster_ops = 1;
  EXPECT_EQ(Clusters(Sized("x", "dim { size: 4 }") + Node("a", "Exp", {"x"}), options), "a");
}

TEST(Worth, AnnotatedOpsAreWhateverTheyCost) {
  const std::string yes = Attr("_XlaCompile", "b: true");
  EXPECT_EQ(Worthy(Sized("x", "dim { size: 4 }") + Node("a", "Exp", {"x"}, yes)), "a");
}

TEST(Worth, ReadingVariablesIsNoWork) {
  std::string graph = Node("v", "_Arg", {});
  for (int i = 0; i < 50; ++i) {
    graph += Node(absl::StrCat("r", i), "ReadVariableOp", {"v"}) +
             Node(absl::StrCat("i", i), "Identity", {absl::StrCat("r", i)});
  }
  EXPECT_EQ(Worthy(graph), "");
}

// A function's arguments: variables "v" and "w" of 100,000 rows, and what changes some of them.
std::string Table(int width, int rows) {
  const std::string row = absl::StrCat("dim { size: ", width, " }");
  const auto argument = [](absl::string_view name, absl::string_view type, absl::string_view attr) {
    return absl::StrCat("node { name: '", name, "' op: '_Arg' ", Attr("T", type), attr, " }\n");
  };
  const std::string content =
      Attr("_handle_shapes", absl::StrCat("list { shape { dim { size: 100000 } ", row, " } }"));
  const auto output = [](absl::string_view shape) {
    return Attr("_output_shapes", absl::StrCat("list { shape { ", shape, " } }"));
  };
  const std::string count = absl::StrCat("dim { size: ", rows, " } ");
  return argument("v", "type: DT_RESOURCE", content) + argument("w", "type: DT_RESOURCE", content) +
         argument("i", "type: DT_INT64", output(count)) +
         argument("u", "type: DT_FLOAT", output(count + row)) +
         argument("lr", "type: DT_FLOAT", output(""));
}

const char kIndices[] = " attr { key: 'Tindices' value { type: DT_INT64 } } ";

std::string Adagrad(absl::string_view gradient = "u", absl::string_view indices = "i") {
  return Node("a", "ResourceSparseApplyAdagrad", {"v", "w", "lr", gradient, indices}, kIndices);
}

// The host's kernels of rows take several times what compiled code takes: no second op is needed.
TEST(Worth, RowsOfVariablesAreWhereTheHostSpendsMuchOnThem) {
  const std::string add = Node("a", "ResourceScatterAdd", {"v", "i", "u"}, kIndices);
  EXPECT_EQ(Worthy(Table(64, 512) + add), "a");
  EXPECT_EQ(WhyNotWorthy(Table(64, 64) + add, "a"), "TOO_SMALL");
  EXPECT_EQ(Worthy(Table(64, 128) + Adagrad()), "a");  // of two variables
  EXPECT_EQ(WhyNotWorthy(Table(8, 4) + Adagrad(), "a"), "TOO_SMALL");
  // Rows that are replaced are only copied, and no op gains alone by that.
  const std::string replace = Node("a", "ResourceScatterUpdate", {"v", "i", "u"}, kIndices);
  EXPECT_EQ(WhyNotWorthy(Table(64, 2048) + replace, "a"), "TOO_SMALL");
}

// What an optimizer does about indices that come twice: only the indices' number is known.
TEST(Worth, RowsCountAsManyAsThereAreIndices) {
  const auto step = [](int width, int rows) {
    return Table(width, rows) + Node("y", "Unique", {"i"}, Attr("out_idx", "type: DT_INT32")) +
           Node("g", "StringLength", {"u"}) + Adagrad("g", "y");
  };
  EXPECT_THAT(Worthy(step(64, 128)), testing::HasSubstr("a"));
  EXPECT_EQ(WhyNotWorthy(step(8, 4), "a"), "TOO_SMALL");
}

// Python calls it past the host's function runtime, which takes longer than either side's kernels.
TEST(Worth, AFunctionThatOnlyChangesRowsIs) {
  MarkOptions options;
  options.has_direct_calls = true;
  const std::string replace = Node("a", "ResourceScatterUpdate", {"v", "i", "u"}, kIndices);
  const std::string gather =
      Node("b", "ResourceGather", {"v", "i", "^a"}, Attr("dtype", "type: DT_FLOAT") + kIndices);
  const std::string small = Table(8, 4) + replace;
  const auto result = [](absl::string_view name, absl::string_view of, int index) {
    return Node(name, "_Retval", {of}, Attr("index", absl::StrCat("i: ", index)));
  };
  EXPECT_EQ(Clusters(small, options), "a");
  EXPECT_EQ(
      Clusters(small + gather + Node("same", "Identity", {"b"}) + result("r", "same", 0), options),
      "a b same");
  EXPECT_EQ(WhyNotWorthy(small, "a"), "TOO_SMALL");
  // Functions that direct calls do not serve, and those without rows, which others may call.
  EXPECT_EQ(WhyNot(small + Node("p", "PyFunc", {"u"}), "a", options), "TOO_SMALL");
  EXPECT_EQ(WhyNot(small + result("r", "u", 0), "a", options), "TOO_SMALL");
  EXPECT_EQ(WhyNot(small + gather + result("r", "b", 0) + result("s", "b", 1), "a", options),
            "TOO_SMALL");
  EXPECT_EQ(WhyNot(TwoOps("dim { size: 4 }"), "a", options), "TOO_SMALL");
  // Graphs that TensorFlow would not make.
  EXPECT_EQ(WhyNot(small + Node("r", "_Retval", {}), "a", options), "TOO_SMALL");
  EXPECT_EQ(WhyNot(small + Node("same", "Identity", {}) + result("r", "same", 0), "a", options),
            "TOO_SMALL");
  EXPECT_EQ(WhyNotWorthy(Node("a", "ResourceScatterAdd", {}), "a"), "TOO_SMALL");
  options.min_cluster_cost = 1000000;
  EXPECT_EQ(WhyNot(small, "a", options), "TOO_SMALL");
}

TEST(Worth, CheapOutputsStayOutside) {
  // b leaves the cluster anyway; its copy and its shape need not.
  const std::string graph = Input("x") + Node("a", "Exp", {"x"}) + Node("b", "Neg", {"a"}) +
                            Node("host", "PyFunc", {"b"}) + Node("same", "Identity", {"b"}) +
                            Node("size", "Shape", {"b"}) +
                            Node("host2", "PyFunc", {"same", "size"});
  EXPECT_EQ(Worthy(graph), "a b");
  EXPECT_EQ(WhyNotWorthy(graph, "size"), "CHEAP_OUTPUT");
}

TEST(Worth, CheapOutputsThatSaveAnOutputStayInside) {
  // The shape is all that leaves: a need not be stored.
  EXPECT_EQ(Worthy(Input("x") + Ints("axis", {0}) + Node("a", "Exp", {"x"}) +
                   Node("size", "Shape", {"a"}) + Node("sum", "Sum", {"a", "axis"}) +
                   Node("host", "PyFunc", {"size", "sum"})),
            "axis a size sum");
}

TEST(Worth, ShapesAreCarriedOn) {
  const graph_def::GraphDef graph = graph_def::ParseGraph(
      Sized("x", "dim { size: 8 } dim { size: 1 }") + Sized("y", "dim { size: 16 }") +
      Node("a", "AddV2", {"x", "y"}) + Node("b", "Exp", {"a"}) + Node("c", "PyFunc", {"b"}) +
      Node("v", "_Arg", {}, Attr("_handle_shapes", "list { shape { dim { size: 3 } } }")) +
      Node("r", "ReadVariableOp", {"v"}));
  absl::StatusOr<graph_def::GraphIndex> index = graph_def::GraphIndex::Create(graph);
  ASSERT_TRUE(index.ok());
  const CostModel cost(*index);
  EXPECT_EQ(cost.Shape(index->Find("b")).ToString(), "[8,16]");
  EXPECT_EQ(cost.Shape(index->Find("c")).ToString(), "<unknown>");
  EXPECT_EQ(cost.Shape(index->Find("r")).ToString(), "[3]");
  EXPECT_GT(cost.Of(index->Find("b")), cost.Of(index->Find("a")));
}

TEST(Worth, HugeShapesDoNotOverflow) {
  const std::string huge = "dim { size: 4611686018427387904 } dim { size: 4611686018427387904 }";
  EXPECT_EQ(Worthy(Sized("x", huge) + Sized("y", huge) + Node("a", "MatMul", {"x", "y"}) +
                   Node("b", "Conv2D", {"a", "y"})),
            "a b");
  // Twice as many operations as columns.
  const graph_def::GraphDef product =
      graph_def::ParseGraph(Sized("x", "dim { size: 1 } dim { size: 1 }") + Sized("y", huge) +
                            Node("a", "MatMul", {"x", "y"}));
  absl::StatusOr<graph_def::GraphIndex> index = graph_def::GraphIndex::Create(product);
  ASSERT_TRUE(index.ok());
  EXPECT_GT(CostModel(*index).Of(index->Find("a")), int64_t{1} << 32);
}

}  // namespace
}  // namespace tektite::clustering
