// Loops and branches as members of clusters: when, their cost, and their functions.
#include "clustering/function_bodies.h"

#include "clustering/cost.h"
#include "clustering/extract_cluster.h"
#include "tests/clustering/testing.h"

namespace tektite::clustering {
namespace {

using graph_def::GraphDef;

MarkOptions KeepLoops() {
  MarkOptions options = Rules();
  options.keep_loops = true;
  return options;
}

std::string NodeInBody(absl::string_view name, absl::string_view op, absl::string_view inputs,
                       absl::string_view extra = "") {
  return absl::StrCat("node_def { name: '", name, "' op: '", op, "' input: [", inputs,
                      "] attr { key: 'T' value { type: DT_FLOAT } } ", extra, " } ");
}

// Of `i` and `v`; `body` are node_defs.
std::string Function(absl::string_view name, absl::string_view body,
                     std::initializer_list<absl::string_view> results,
                     absl::string_view v_type = "DT_FLOAT") {
  std::string out = absl::StrCat(
      "library { function { signature { name: '", name,
      "' input_arg { name: 'i' type: DT_INT32 } input_arg { name: 'v' type: ", v_type, " } ");
  for (size_t k = 0; k < results.size(); ++k) {
    absl::StrAppend(&out, "output_arg { name: 'r", k, "' type: DT_FLOAT } ");
  }
  absl::StrAppend(&out, "} ", body);
  int k = 0;
  for (absl::string_view result : results) {
    absl::StrAppend(&out, " ret { key: 'r", k++, "' value: '", result, "' } ");
  }
  return out + "} }\n";
}

std::string FunctionAttr(absl::string_view attr, absl::string_view name) {
  return Attr(attr, absl::StrCat("func { name: '", name, "' }"));
}

// Of two carried values, `i` and `v`.
std::string While(absl::string_view name, std::initializer_list<absl::string_view> inputs,
                  absl::string_view body = "body",
                  absl::string_view mark = "_lower_using_switch_merge") {
  return absl::StrCat("node { name: '", name, "' op: 'While' ",
                      absl::StrJoin(inputs, "",
                                    [](std::string* out, absl::string_view input) {
                                      absl::StrAppend(out, "input: '", input, "' ");
                                    }),
                      Attr("T", "list { type: [DT_INT32, DT_FLOAT] }"),
                      FunctionAttr("cond", "cond"), FunctionAttr("body", body),
                      Attr(mark, "b: true"), "}\n");
}

const std::string kCondition =
    Function("cond", NodeInBody("less", "Less", "'i', 'i'"), {"less:z:0"});
const std::string kBody =
    Function("body", NodeInBody("next", "AddV2", "'i', 'i'") + NodeInBody("tanh", "Tanh", "'v'"),
             {"next:z:0", "tanh:y:0"});
const std::string kAround = Input("x") +
                            Node("n", "Placeholder", {}, Attr("dtype", "type: DT_INT32")) +
                            Node("a", "Exp", {"x"}) + Node("b", "Neg", {"while:1"});

TEST(FunctionBodies, LoopIsAMemberOfItsCluster) {
  const std::string graph = kAround + While("while", {"n", "a"}) + kCondition + kBody;
  EXPECT_EQ(Clusters(graph, KeepLoops()), "a while b");
  EXPECT_EQ(Clusters(graph), "");  // without the option
  EXPECT_EQ(WhyNot(graph, "while"), "CONTROL_FLOW");
  EXPECT_EQ(
      Clusters(kAround + While("while", {"n", "a"}, "body", "_tektite_kept") + kCondition + kBody,
               KeepLoops()),
      "a while b");
}

MarkOptions TakeOverXla() {
  MarkOptions options = Rules();
  options.take_over_xla = true;
  return options;
}

// A call for XLA of a function of `n` and `a`.
std::string XlaCall(absl::string_view name) {
  return absl::StrCat("node { name: 'call' op: 'PartitionedCall' input: 'n' input: 'a' ",
                      Attr("Tin", "list { type: [DT_INT32, DT_FLOAT] }"),
                      Attr("Tout", "list { type: [DT_INT32, DT_FLOAT] }"), FunctionAttr("f", name),
                      Attr("_XlaMustCompile", "b: true"), "}\n");
}

const std::string kAroundCall = Input("x") +
                                Node("n", "Placeholder", {}, Attr("dtype", "type: DT_INT32")) +
                                Node("a", "Exp", {"x"}) + Node("b", "Neg", {"call:1"});

// TensorFlow does not take such a loop apart, as those of tf.nn.ctc_loss. It was left out, and with
// it every loop around whose lists it reads.
TEST(FunctionBodies, LoopThatStaysFunctionalIsAMember) {
  const std::string graph =
      kAround + While("while", {"n", "a"}, "body", "_other") + kCondition + kBody;
  EXPECT_EQ(Clusters(graph, KeepLoops()), "a while b");
  const std::string call = kAroundCall +
                           "node { name: 'call' op: 'PartitionedCall' input: 'n' input: 'a' " +
                           FunctionAttr("f", "body") + "}\n" + kBody;
  EXPECT_EQ(WhyNot(call, "call", KeepLoops()), "CONTROL_FLOW");
}

TEST(FunctionBodies, CallForXlaIsAMemberOfItsCluster) {
  const std::string graph = kAroundCall + XlaCall("body") + kBody;
  EXPECT_EQ(Clusters(graph, TakeOverXla()), "a call b");
  EXPECT_EQ(Clusters(graph), "");
  EXPECT_EQ(WhyNot(graph, "call"), "MUST_COMPILE");
}

TEST(FunctionBodies, CallForXlaIsXlasWhereAnOpOfItsIs) {
  const std::string body =
      Function("body", NodeInBody("next", "AddV2", "'i', 'i'") + NodeInBody("odd", "Print", "'v'"),
               {"next:z:0", "odd:y:0"});
  EXPECT_EQ(WhyNot(kAroundCall + XlaCall("body") + body, "call", TakeOverXla()), "FUNCTION_BODY");
  EXPECT_EQ(WhyNot(kAroundCall + XlaCall("gone"), "call", TakeOverXla()), "FUNCTION_BODY");
}

// XLA's loops bear no mark.
TEST(FunctionBodies, LoopInACallForXlaNeedsNoMark) {
  const std::string loop =
      absl::StrCat("node_def { name: 'while' op: 'While' input: ['i', 'v'] ",
                   Attr("T", "list { type: [DT_INT32, DT_FLOAT] }"), FunctionAttr("cond", "cond"),
                   FunctionAttr("body", "body"), "} ");
  const std::string graph = kAroundCall + XlaCall("outer") +
                            Function("outer", loop, {"while:output:0", "while:output:1"}) +
                            kCondition + kBody;
  MarkOptions options = TakeOverXla();
  EXPECT_EQ(WhyNot(graph, "call", options), "FUNCTION_BODY");
  options.keep_loops = true;
  EXPECT_EQ(Clusters(graph, options), "a call b");
}

// A call and a loop's body may assign to variables, since their cluster changes them when nothing
// can fail any more; a loop's condition may not, which runs once more than the body.
TEST(FunctionBodies, OnlyConditionsMayNotAssign) {
  const std::string assigns =
      NodeInBody("tanh", "Tanh", "'v'") +
      NodeInBody("w", "AssignVariableOp", "'i', 'tanh:y:0'", Attr("validate_shape", "b: true"));
  const std::string body = Function("body", assigns, {"i", "tanh:y:0"});
  EXPECT_EQ(Clusters(kAroundCall + XlaCall("body") + body, TakeOverXla()), "a call b");
  EXPECT_EQ(Clusters(kAround + While("while", {"n", "a"}) + kCondition + body, KeepLoops()),
            "a while b");
  const std::string assigning_condition =
      Function("cond", assigns + NodeInBody("less", "Less", "'i', 'i'"), {"less:z:0"});
  EXPECT_EQ(WhyNot(kAround + While("while", {"n", "a"}) + assigning_condition + kBody, "while",
                   KeepLoops()),
            "FUNCTION_BODY");
}

std::string DetailOf(const std::string& text) {
  const GraphDef graph = graph_def::ParseGraph(text);
  const Marking marking = Mark(graph, KeepLoops());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].name == "while") {
      return absl::StrCat(ReasonCode(marking.reason[i]), " ", marking.detail[i]);
    }
  }
  return "";
}

// The length of a list may be a scalar from outside, or arithmetic on one: each call knows it.
// tf.TensorArray(tf.float32, n) kept its loop with the host.
TEST(FunctionBodies, LengthOfAListMayComeFromOutside) {
  const auto list = [](absl::string_view length) {
    const std::string element = Attr("element_dtype", "type: DT_FLOAT");
    return Input("x") + Node("n", "Placeholder", {}, Attr("dtype", "type: DT_INT32")) +
           Ints("shape", {1024, 1024}) + Ints("one", {1}) + Ints("vector", {1, 2}) +
           Node("more", "AddV2", {"n", "one"}) + Node("sum", "Sum", {"n", "vector"}) +
           Node("list", "TensorListReserve", {"shape", length}, element) +
           Node("set", "TensorListSetItem", {"list", "one", "x"}, element) +
           Node("y", "TensorListStack", {"set", "shape"}, element) + Node("z", "Exp", {"y"});
  };
  EXPECT_THAT(Clusters(list("n"), KeepLoops()), ::testing::HasSubstr("list set y z"));
  EXPECT_THAT(Clusters(list("more"), KeepLoops()), ::testing::HasSubstr("list set y z"));
  EXPECT_EQ(WhyNot(list("sum"), "list", KeepLoops()), "NOT_COMPILE_TIME");
}

TEST(FunctionBodies, ReasonNamesFunctionAndNode) {
  const std::string loop = kAround + kCondition + While("while", {"n", "a"});
  // The node that the loop's value comes from.
  const auto with = [&](absl::string_view body) {
    const size_t name = body.find('\'') + 1;
    return DetailOf(
        loop +
        Function("body", body,
                 {"i", absl::StrCat(body.substr(name, body.find('\'', name) - name), ":y:0")}));
  };
  EXPECT_EQ(with(NodeInBody("print", "PrintV2", "'v'")),
            "FUNCTION_BODY NO_IMPORTER: PrintV2 'body/print'");
  EXPECT_EQ(with(NodeInBody("sin", "Sin", "'v'", Attr("Tx", "type: DT_COMPLEX64"))),
            "FUNCTION_BODY UNSUPPORTED_TYPE: Sin 'body/sin': Tx is DT_COMPLEX64");
  EXPECT_EQ(with(NodeInBody("where", "Where", "'v'")),
            "FUNCTION_BODY DATA_DEPENDENT_SHAPE: Where 'body/where'");
  EXPECT_EQ(with(NodeInBody("w", "AssignVariableOp", "'v', 'v'")),
            "FUNCTION_BODY DATA_DEPENDENT_SHAPE: AssignVariableOp 'body/w': the variable may "
            "change its shape");
  EXPECT_EQ(with(NodeInBody("sum", "Sum", "'v', 'i'")),
            "FUNCTION_BODY NOT_COMPILE_TIME: Sum 'body/sum': input 1");
  EXPECT_EQ(with(NodeInBody("neg", "Neg", "'v'", "device: '/device:CPU:1'")),
            "FUNCTION_BODY DEVICE: Neg 'body/neg': /device:CPU:1");
  EXPECT_EQ(with(NodeInBody("neg", "Neg", "'v'", "device: '/cpu:0'")), "NONE ");
  // Nothing needs the range that tf.range leaves in the body of a Python loop.
  EXPECT_EQ(DetailOf(loop + Function("body", NodeInBody("sum", "Sum", "'v', 'i'"), {"i", "v"})),
            "NONE ");
  EXPECT_NE(DetailOf(loop + Function("body", NodeInBody("p", "PrintV2", "'v'"), {"i", "v"})),
            "NONE ");
  EXPECT_EQ(DetailOf(loop), "FUNCTION_BODY there is no function 'body'");
  EXPECT_EQ(DetailOf(loop + Function("body", "", {"i", "nowhere:y:0"})),
            "FUNCTION_BODY function 'body': its body does not fit its signature");
}

// An axis that the caller knows and the loop hands on is known in each turn.
TEST(FunctionBodies, KnownValuesAreHandedOn) {
  const std::string sum = NodeInBody("sum", "Sum", "'v', 'i'");
  const std::string known = Input("x") + Ints("n", {0}) + Node("a", "Exp", {"x"}) +
                            While("while", {"n", "a"}) + kCondition;
  EXPECT_EQ(DetailOf(known + Function("body", sum, {"i", "sum:output:0"})), "NONE ");
  EXPECT_EQ(DetailOf(known + Function("body", sum + NodeInBody("next", "AddV2", "'i', 'i'"),
                                      {"next:z:0", "sum:output:0"})),
            "FUNCTION_BODY NOT_COMPILE_TIME: Sum 'body/sum': input 1");
}

TEST(FunctionBodies, FollowsCallsAndLoopsInLoops) {
  const std::string inner = "node_def { name: 'inner' op: 'While' input: ['i', 'v'] " +
                            Attr("T", "list { type: [DT_INT32, DT_FLOAT] }") +
                            FunctionAttr("cond", "cond") + FunctionAttr("body", "innermost") +
                            Attr("_lower_using_switch_merge", "b: true") + "} ";
  const std::string outer = kAround + kCondition + While("while", {"n", "a"}) +
                            Function("body", inner, {"inner:output:0", "inner:output:1"});
  const std::string call = "node_def { name: 'call' op: 'called' input: ['i', 'v'] } ";
  const std::string innermost = Function("innermost", call, {"call:r0:0", "call:r1:0"});
  EXPECT_EQ(DetailOf(outer + innermost +
                     Function("called", NodeInBody("tanh", "Tanh", "'v'"), {"i", "tanh:y:0"})),
            "NONE ");
  EXPECT_EQ(DetailOf(outer + innermost +
                     Function("called", NodeInBody("print", "PrintV2", "'v'"), {"i", "v"})),
            "FUNCTION_BODY NO_IMPORTER: PrintV2 'innermost/call/print'");
  // One that runs itself.
  EXPECT_EQ(DetailOf(outer + Function("innermost", inner, {"i", "v"})),
            "FUNCTION_BODY functions more than 16 deep");
}

TEST(FunctionBodies, ListsStayInTheirCluster) {
  const auto list_loop = [](absl::string_view name, absl::string_view input) {
    return absl::StrCat("node { name: '", name, "' op: 'While' input: 'n' input: '", input, "' ",
                        Attr("T", "list { type: [DT_INT32, DT_VARIANT] }"),
                        FunctionAttr("cond", "cond"), FunctionAttr("body", "body"),
                        Attr("_lower_using_switch_merge", "b: true"), "}\n");
  };
  const std::string functions =
      Function("cond", "", {"i"}, "DT_VARIANT") + Function("body", "", {"i", "v"}, "DT_VARIANT");
  const std::string list =
      Input("x") + Node("n", "Placeholder", {}, Attr("dtype", "type: DT_INT32")) +
      "node { name: 'list' op: 'Made' " + Attr("T", "type: DT_VARIANT") + "}\n";
  const std::string entering = list + list_loop("while", "list") + functions;
  EXPECT_EQ(WhyNot(entering, "while", KeepLoops()), "LIST_LEAVES");
  // One that is left out takes those along whose lists it has.
  const std::string chain =
      list + list_loop("one", "list") + list_loop("while", "one:1") + functions;
  EXPECT_EQ(WhyNot(chain, "while", KeepLoops()), "LIST_LEAVES");
  const std::string leaving =
      list + list_loop("while", "list") + functions + Node("host", "PyFunc", {"while:1"});
  EXPECT_EQ(WhyNot(leaving, "while", KeepLoops()), "LIST_LEAVES");
}

// An array of TensorFlow 1, whose elements no edge carries.
TEST(FunctionBodies, ArraysStayInTheirCluster) {
  const std::string sizes = Node("n", "Placeholder", {}, Attr("dtype", "type: DT_INT32")) +
                            Input("x") + Node("four", "Const", {}, Attr("dtype", "type: DT_INT32"));
  const auto array = [&](absl::string_view attrs) {
    return Node("array", "TensorArrayV3", {"four"},
                absl::StrCat(Attr("dtype", "type: DT_FLOAT"), attrs));
  };
  const auto write = [](absl::string_view name, absl::string_view flow) {
    return Node(name, "TensorArrayWriteV3", {"array", "n", "x", flow}, Attr("T", "type: DT_FLOAT"));
  };
  const std::string read =
      Node("read", "TensorArrayReadV3", {"array", "n", "write"}, Attr("dtype", "type: DT_FLOAT"));
  const std::string whole = sizes + array("") + write("write", "array:1") + read;
  EXPECT_EQ(WhyNot(whole, "write", KeepLoops()), "NONE");
  EXPECT_EQ(WhyNot(whole, "array", MarkOptions()), "CONTROL_FLOW");
  const std::string handle_leaves = whole + Node("host", "PyFunc", {"array"});
  const std::string flow_leaves = whole + Node("host", "PyFunc", {"write"});
  for (absl::string_view node : {"array", "write", "read"}) {
    EXPECT_EQ(WhyNot(handle_leaves, node, KeepLoops()), "LIST_LEAVES");
    EXPECT_EQ(WhyNot(flow_leaves, node, KeepLoops()), "LIST_LEAVES");
  }
  // Writes that the flow does not order, one that no flow leads to, and an array that grows.
  const std::string forked =
      whole + write("other", "array:1") + Node("size", "TensorArraySizeV3", {"array", "other"});
  EXPECT_EQ(WhyNot(forked, "write", KeepLoops()), "CONTROL_FLOW");
  EXPECT_EQ(WhyNot(whole + write("last", "write"), "last", KeepLoops()), "CONTROL_FLOW");
  const std::string grows =
      sizes + array(Attr("dynamic_size", "b: true")) + write("write", "array:1") + read;
  EXPECT_EQ(WhyNot(grows, "array", KeepLoops()), "DATA_DEPENDENT_SHAPE");
  EXPECT_EQ(WhyNot(grows, "read", KeepLoops()), "LIST_LEAVES");
}

int64_t CostOf(const std::string& text, absl::string_view name) {
  const GraphDef graph = graph_def::ParseGraph(text);
  const auto index = graph_def::GraphIndex::Create(graph);
  EXPECT_TRUE(index.ok()) << index.status();
  return CostModel(*index).Of(index->Find(name));
}

TEST(FunctionBodies, ALoopCostsItsTurnsAndABranchItsDearest) {
  const std::string graph = kAround + While("while", {"n", "a"}) + kCondition + kBody;
  const int64_t tanh = CostOf(Input("x") + Node("t", "Tanh", {"x"}), "t");
  EXPECT_GT(CostOf(graph, "while"), 32 * tanh);
  EXPECT_LT(CostOf(graph, "while"), 33 * tanh);
  const auto branch = [&](absl::string_view other) {
    return CostOf(Input("x") + Ints("n", {1}) + Input("p") + kBody +
                      Function("other", other, {"i", "v"}) +
                      "node { name: 'if' op: 'If' input: 'p' "
                      "input: 'n' input: 'x' " +
                      FunctionAttr("then_branch", "body") + FunctionAttr("else_branch", "other") +
                      Attr("_lower_using_switch_merge", "b: true") + "}\n",
                  "if");
  };
  EXPECT_EQ(branch(""), branch(NodeInBody("neg", "Neg", "'v'")));
  EXPECT_GT(branch(NodeInBody("a", "Tanh", "'v'") + NodeInBody("b", "Tanh", "'v'")), branch(""));
}

TEST(FunctionBodies, FunctionsComeAlong) {
  const GraphDef graph = graph_def::ParseGraph(kAround + While("while", {"n", "a"}) + kCondition +
                                               kBody + Function("unused", "", {"i"}));
  const auto index = graph_def::GraphIndex::Create(graph);
  ASSERT_TRUE(index.ok());
  const auto closed = ExtractCluster(*index, {index->Find("a"), index->Find("while")});
  ASSERT_TRUE(closed.ok()) << closed.status();
  ASSERT_EQ(closed->graph.functions.size(), 2u);
  EXPECT_EQ(closed->graph.functions[0].signature.name, "body");
  EXPECT_EQ(closed->graph.functions[1].signature.name, "cond");
}

}  // namespace
}  // namespace tektite::clustering
