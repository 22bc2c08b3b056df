// Functional loops and branches: what IR they become, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "clustering/importer/importer.h"
#include "jit/ops/ops.h"
#include "jit/reference/interpreter.h"
#include "tests/importer/graph_text.h"

namespace tektite::importer {
namespace {

using ir::Dim;
using ::testing::HasSubstr;
using ::testing::Not;

// A function of some s32 scalars or vectors of f32; `results` name nodes' outputs ("add:z:0").
std::string Function(absl::string_view name, std::vector<std::string> types,
                     std::vector<std::string> result_types, const std::string& nodes,
                     std::vector<std::string> results) {
  std::string text = absl::StrCat("library { function { signature { name: '", name, "' ");
  for (size_t i = 0; i < types.size(); ++i) {
    absl::StrAppend(&text, "input_arg { name: 'a", i, "' type: ", types[i], " } ");
  }
  for (size_t i = 0; i < result_types.size(); ++i) {
    absl::StrAppend(&text, "output_arg { name: 'r", i, "' type: ", result_types[i], " } ");
  }
  absl::StrAppend(&text, "} ", nodes);
  for (size_t i = 0; i < results.size(); ++i) {
    absl::StrAppend(&text, "ret { key: 'r", i, "' value: '", results[i], "' } ");
  }
  return absl::StrCat(text, "} }\n");
}

// Nodes of a function's body.
std::string Inside(std::string nodes) {
  for (size_t at = 0; (at = nodes.find("node {", at)) != std::string::npos; at += 10) {
    nodes.replace(at, 6, "node_def {");
  }
  return nodes;
}

std::string Runs(absl::string_view attr, absl::string_view function) {
  return absl::StrCat("attr { key: '", attr, "' value { func { name: '", function, "' } } } ");
}

std::string While(std::vector<std::string> inputs) {
  return Node("loop", "StatelessWhile", std::move(inputs),
              Runs("cond", "go") + Runs("body", "turn"));
}

const char kInt[] = "DT_INT32", kFloat[] = "DT_FLOAT", kBool[] = "DT_BOOL", kList[] = "DT_VARIANT";

// a0 < 5
std::string GoToFive(std::vector<std::string> types) {
  return Function("go", std::move(types), {kBool},
                  Inside(Ints("five", {5}, true) + Node("less", "Less", {"a0", "five:output:0"})),
                  {"less:z:0"});
}

std::string AddOne() {
  return Ints("one", {1}, true) + Node("next", "AddV2", {"a0", "one:output:0"});
}

absl::StatusOr<ImportedGraph> Import(const std::string& text, ir::Dims dims = {Dim(3)}) {
  return ImportGraph(ReadText(text), {F32(std::move(dims))});
}

std::string Refusal(const std::string& text) {
  const auto imported = Import(text);
  EXPECT_FALSE(imported.ok());
  return std::string(imported.status().message());
}

// Takes the elements of a list in turn, `from` being the counter's first value.
std::string Reading(int from) {
  const std::string element = R"(attr { key: 'element_dtype' value { type: DT_FLOAT } })";
  const std::string body =
      Ints("scalar", {}) + AddOne() +
      Node("item", "TensorListGetItem", {"a1", "a0", "scalar:output:0"}, element) +
      Node("sum", "AddV2", {"a2", "item:item:0"});
  return Arg(0, kFloat) + Ints("from", {from}, true) + Ints("scalar", {}) + Ints("first", {0}) +
         Ints("reduced", {0}) + Node("start", "Sum", {"arg0", "reduced"}) +
         Node("list", "TensorListFromTensor", {"arg0", "scalar"}, element) +
         While({"from", "list", "start"}) + Retval(0, "loop:2") + GoToFive({kInt, kList, kFloat}) +
         Function("turn", {kInt, kList, kFloat}, {kInt, kList, kFloat}, Inside(body),
                  {"next:z:0", "a1", "sum:z:0"});
}

TEST(ControlFlow, KnowsBetweenWhichBoundsCountersAre) {
  const auto five = Import(Reading(0), {Dim(5)});
  ASSERT_TRUE(five.ok()) << five.status();
  EXPECT_EQ(five->num_checks, 0);
  EXPECT_THAT(ir::Print(*five->graph), HasSubstr("while("));
  // One turn reads an element that is not there.
  for (const auto& imported : {Import(Reading(-1), {Dim(5)}), Import(Reading(0), {Dim(4)})}) {
    ASSERT_TRUE(imported.ok()) << imported.status();
    EXPECT_EQ(imported->num_checks, 1);
  }
}

// Conditions and sizes that many others have in common were counted once for each: 2^50 times here.
TEST(ControlFlow, SharedConditionsAndSizesTakeNoTime) {
  constexpr int kWays = 50;
  std::string nodes = Ints("five", {5}, true) + Node("c0", "Less", {"a0", "five:output:0"}) +
                      Node("s0", "Size", {"a1"});
  std::string size = "s0:output:0";
  for (int i = 0; i < kWays; ++i) {
    const std::string condition = absl::StrCat("c", i, ":z:0");
    absl::StrAppend(&nodes, Node(absl::StrCat("s", i + 1), "AddV2", {size, size}));
    size = absl::StrCat("s", i + 1, ":z:0");
    absl::StrAppend(&nodes, Node(absl::StrCat("d", i), "Less", {"a0", size}));
    absl::StrAppend(&nodes, Node(absl::StrCat("b", i), "LogicalAnd",
                                 {condition, absl::StrCat("d", i, ":z:0")}));
    absl::StrAppend(&nodes, Node(absl::StrCat("c", i + 1), "LogicalAnd",
                                 {absl::StrCat("b", i, ":z:0"), condition}));
  }
  const auto imported = Import(
      Arg(0, kFloat) + Ints("from", {0}, true) + While({"from", "arg0"}) + Retval(0, "loop:1") +
          Function("go", {kInt, kFloat}, {kBool}, Inside(nodes),
                   {absl::StrCat("c", kWays, ":z:0")}) +
          Function("turn", {kInt, kFloat}, {kInt, kFloat}, Inside(AddOne()), {"next:z:0", "a1"}),
      {Dim::Symbol("n")});
  EXPECT_TRUE(imported.ok()) << imported.status();
}

// The turn that fails is the last one, also where the loop would not end.
TEST(ControlFlow, EndsWhereACheckFails) {
  const auto imported = Import(Reading(0), {Dim(2)});
  ASSERT_TRUE(imported.ok()) << imported.status();
  const auto x = ir::Literal::FromVector<float>({2}, {1, 2});
  const auto results = reference::Evaluate(*imported->graph, {x});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->back().AsInt(0), 0);
}

TEST(ControlFlow, LoopWithoutTurnsIsNotThere) {
  const auto imported = Import(Reading(7));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(ir::Print(*imported->graph), Not(HasSubstr("while(")));
}

TEST(ControlFlow, NamesFunctionAndNode) {
  const std::string head = Arg(0, kFloat) + Ints("from", {0}, true) + While({"from"}) +
                           Retval(0, "loop") + GoToFive({kInt});
  EXPECT_THAT(
      Refusal(head + Function("turn", {kInt}, {kInt},
                              Inside(AddOne() + Node("print", "PrintV2", {"a0"})), {"next:z:0"})),
      HasSubstr("PrintV2 'turn/print': no such op here"));
}

TEST(ControlFlow, RefusesFunctionsThatDoNotFit) {
  const std::string head =
      Arg(0, kFloat) + Ints("from", {0}, true) + While({"from"}) + Retval(0, "loop");
  const std::string turn = Function("turn", {kInt}, {kInt}, Inside(AddOne()), {"next:z:0"});
  EXPECT_THAT(Refusal(head + turn), HasSubstr("there is no function 'go'"));
  EXPECT_THAT(Refusal(head + GoToFive({kInt})), HasSubstr("there is no function 'turn'"));
  EXPECT_THAT(Refusal(head + GoToFive({kInt}) + Function("turn", {kInt}, {}, "", {})),
              HasSubstr("its body has other variables"));
  EXPECT_THAT(Refusal(head + GoToFive({kInt}) + Function("turn", {kInt, kInt}, {kInt}, "", {"a1"})),
              HasSubstr("index 1 of 1"));
  EXPECT_THAT(Refusal(head + turn + Function("go", {kInt}, {}, "", {})),
              HasSubstr("condition has not one result"));
  EXPECT_THAT(
      Refusal(head + turn +
              Function("go", {kInt}, {kInt}, Inside(Ints("one", {1}, true)), {"one:output:0"})),
      HasSubstr("it never ends"));
  const std::string itself =
      Node("again", "StatelessWhile", {"a0"}, Runs("cond", "go") + Runs("body", "turn"));
  EXPECT_THAT(Refusal(head + GoToFive({kInt}) +
                      Function("turn", {kInt}, {kInt}, Inside(itself), {"again:output:0"})),
              HasSubstr("functions more than 6 deep"));
}

TEST(ControlFlow, RefusesBranchesWithOtherResults) {
  const std::string head = Arg(0, kFloat) + Ints("reduced", {0}) +
                           Node("which", "Sum", {"arg0", "reduced"}) +
                           Node("if", "StatelessIf", {"which", "arg0"},
                                Runs("then_branch", "yes") + Runs("else_branch", "no")) +
                           Retval(0, "if");
  const std::string same = Function("yes", {kFloat}, {kFloat}, "", {"a0"});
  const std::string sum =
      Inside(Ints("reduced", {0}) + Node("sum", "Sum", {"a0", "reduced:output:0"}));
  EXPECT_THAT(Refusal(head + same + Function("no", {kFloat}, {kFloat}, sum, {"sum:output:0"})),
              HasSubstr("its shape changes from [3] to []"));
  EXPECT_THAT(Refusal(head + same + Function("no", {kFloat}, {}, "", {})),
              HasSubstr("other numbers of results"));
}

}  // namespace
}  // namespace tektite::importer
