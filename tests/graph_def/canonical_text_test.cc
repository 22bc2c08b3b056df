// Two graphs have one text when they compute the same by the same ops, and two otherwise.
#include "clustering/graph_def/canonical_text.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "tests/graph_def/testing.h"

namespace tektite::graph_def {
namespace {

constexpr char kGraph[] = R"(
node { name: "x" op: "_Arg" attr { key: "T" value { type: DT_FLOAT } } attr { key: "index" value { i: 0 } } }
node { name: "y" op: "_Arg" attr { key: "T" value { type: DT_FLOAT } } attr { key: "index" value { i: 1 } } }
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 2 } } } }
node { name: "sub" op: "Sub" input: "x" input: "y" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "mul" op: "Mul" input: "sub" input: "c" input: "^y" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "r" op: "_Retval" input: "mul" attr { key: "T" value { type: DT_FLOAT } } attr { key: "index" value { i: 0 } } }
)";

std::string TextOf(const std::string& graph) {
  auto text = WriteCanonicalText(ParseGraph(graph));
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? text->whole : "";
}
std::string With(const std::string& from, const std::string& to) {
  const std::string changed = absl::StrReplaceAll(kGraph, {{from, to}});
  EXPECT_NE(changed, kGraph);
  return TextOf(changed);
}

TEST(CanonicalText, IsAsDocumented) {
  auto text = WriteCanonicalText(ParseGraph(kGraph));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->ops, "_Arg\n_Arg\nSub 0#0 1#0\nConst\nMul 2#0 3#0\n_Retval 4#0\n");
  EXPECT_EQ(text->whole.substr(0, text->whole.find("Const")),
            "_Arg T=DT_FLOAT index=0\n_Arg T=DT_FLOAT index=1\nSub 0#0 1#0 T=DT_FLOAT\n");
}

TEST(CanonicalText, LeavesOutWhatDoesNotMatter) {
  const std::string text = TextOf(kGraph);
  EXPECT_EQ(With("\"sub\"", "\"another/name\""), text);
  EXPECT_EQ(With("input: \"^y\" ", ""), text);
  EXPECT_EQ(With("op: \"Mul\"", "op: \"Mul\" device: \"/cpu:0\""), text);
  EXPECT_EQ(With("op: \"Mul\"", "op: \"Mul\" attr { key: \"_class\" value { s: \"loc:@x\" } }"),
            text);
  EXPECT_EQ(TextOf(std::string("node { name: \"unused\" op: \"NoOp\" }") + kGraph), text);
  // The order of nodes.
  const std::string graph = kGraph;
  const size_t second = graph.find("node { name: \"y\""), third = graph.find("node { name: \"c\"");
  EXPECT_EQ(
      TextOf(graph.substr(second, third - second) + graph.substr(0, second) + graph.substr(third)),
      text);
}

TEST(CanonicalText, HoldsWhatMatters) {
  const std::string text = TextOf(kGraph);
  EXPECT_NE(With("op: \"Sub\"", "op: \"Add\""), text);
  EXPECT_NE(With("input: \"x\" input: \"y\"", "input: \"y\" input: \"x\""), text);
  EXPECT_NE(With("float_val: 2", "float_val: 3"), text);
  EXPECT_NE(With("DT_FLOAT", "DT_DOUBLE"), text);
  EXPECT_NE(With("op: \"Mul\"", "op: \"Mul\" attr { key: \"k\" value { list { i: 1 i: 2 } } }"),
            text);
  EXPECT_NE(With("name: \"x\" op: \"_Arg\"",
                 "name: \"x\" op: \"_Arg\" attr { key: \"_tektite_updated\" value { b: true } }"),
            text);
  EXPECT_NE(With("op: \"Mul\"",
                 "op: \"Mul\" attr { key: \"_tektite_without_onednn\" value { b: true } }"),
            text);
}

// Without this a step of one optimizer ran the code of another that had the same results.
TEST(CanonicalText, HoldsWhatIsAssignedAndInWhichOrder) {
  const std::string graph = R"(
node { name: "v" op: "_Arg" attr { key: "T" value { type: DT_RESOURCE } } attr { key: "index" value { i: 0 } } }
node { name: "x" op: "_Arg" attr { key: "T" value { type: DT_FLOAT } } attr { key: "index" value { i: 1 } } }
node { name: "read" op: "ReadVariableOp" input: "v" }
node { name: "add" op: "AssignAddVariableOp" input: "v" input: "x" input: "^read" }
node { name: "r" op: "_Retval" input: "read" attr { key: "index" value { i: 0 } } }
)";
  const std::string text = TextOf(graph);
  const auto with = [&](const std::string& from, const std::string& to) {
    const std::string changed = absl::StrReplaceAll(graph, {{from, to}});
    EXPECT_NE(changed, graph);
    return TextOf(changed);
  };
  EXPECT_NE(with("AssignAdd", "AssignSub"), text);
  EXPECT_NE(with("AssignAddVariableOp", "NoOp"), text);
  // Read after the write.
  EXPECT_NE(
      TextOf(absl::StrReplaceAll(graph, {{" input: \"^read\"", ""},
                                         {"\"ReadVariableOp\" input: \"v\"",
                                          "\"ReadVariableOp\" input: \"v\" input: \"^add\""}})),
      text);
}

constexpr char kLoop[] = R"(
node { name: "x" op: "_Arg" attr { key: "T" value { type: DT_FLOAT } } attr { key: "index" value { i: 0 } } }
node { name: "loop" op: "While" input: "x" attr { key: "T" value { list { type: DT_FLOAT } } }
       attr { key: "cond" value { func { name: "cond_7" } } } attr { key: "body" value { func { name: "body_8" } } } }
node { name: "r" op: "_Retval" input: "loop" attr { key: "index" value { i: 0 } } }
library { function { signature { name: "cond_7" input_arg { name: "v" type: DT_FLOAT } output_arg { name: "w" type: DT_BOOL } }
  node_def { name: "less" op: "Less" input: "v" input: "v" } ret { key: "w" value: "less:z:0" } } }
library { function { signature { name: "body_8" input_arg { name: "v" type: DT_FLOAT } output_arg { name: "w" type: DT_FLOAT } }
  node_def { name: "exp" op: "Exp" input: "v" attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "w" value: "exp:y:0" } } }
)";

// TensorFlow numbers the functions of each loop that a program builds.
TEST(CanonicalText, FunctionsStandThereByWhatTheyDo) {
  const std::string text = TextOf(kLoop);
  const auto with = [&](const std::string& from, const std::string& to) {
    const std::string changed = absl::StrReplaceAll(kLoop, {{from, to}});
    EXPECT_NE(changed, kLoop);
    return TextOf(changed);
  };
  EXPECT_NE(text, "");
  EXPECT_EQ(with("body_8", "body_9"), text);
  EXPECT_EQ(with("exp", "exponential"), text);
  EXPECT_NE(with("Exp", "Neg"), text);
  EXPECT_NE(with("Less", "Greater"), text);
  EXPECT_NE(with("exp:y:0", "v"), text);
}

TEST(CanonicalText, RefusesWhatItCannotTellApart) {
  const auto status = [](const std::string& from, const std::string& to) {
    const std::string changed = absl::StrReplaceAll(kLoop, {{from, to}});
    return WriteCanonicalText(ParseGraph(changed)).status();
  };
  EXPECT_TRUE(
      absl::IsNotFound(status("signature { name: \"body_8\"", "signature { name: \"other\"")));
  EXPECT_TRUE(absl::IsUnimplemented(status(
      "op: \"Exp\" input: \"v\"",
      "op: \"While\" input: \"v\" attr { key: \"body\" value { func { name: \"body_8\" } } }")));
  EXPECT_TRUE(absl::IsUnimplemented(
      WriteCanonicalText(ParseGraph("node { name: \"n\" op: \"NextIteration\" }")).status()));
}

}  // namespace
}  // namespace tektite::graph_def
