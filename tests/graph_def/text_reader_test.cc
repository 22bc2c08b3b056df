// The text form: what it may look like, and errors that name the line.
#include "clustering/graph_def/text_reader.h"

#include <gmock/gmock.h>

#include "clustering/graph_def/reader.h"
#include "clustering/graph_def/writer.h"
#include "tests/graph_def/testing.h"

namespace tektite::graph_def {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Error(absl::string_view text) {
  return std::string(ReadTextGraphDef(text).status().message());
}

TEST(TextReader, ReadsAllKindsOfAttributes) {
  const GraphDef graph = ParseGraph(R"(
    # a comment
    versions { producer: 27 }
    node {
      name: "n"; op: 'Op'
      input: ["a", "^c", "b:1"]
      attr { key: "s" value { s: "tab\t octal\101 hex\x42 \"quoted\" u\u00e9" " joined" } }
      attr { key: "i" value { i: -0x10 } }
      attr { key: "f" value { f: 1.5e-3f } }
      attr { key: "inf" value { f: -inf } }
      attr { key: "b" value { b: true } }
      attr { key: "t" value { type: DT_FLOAT_REF } }
      attr { key: "shape" value { shape { dim { size: -1 } dim < size: 3 > } } }
      attr { key: "scalar" value { shape { } } }
      attr { key: "unknown" value { shape { unknown_rank: true } } }
      attr { key: "list" value { list { i: [1, 2] i: 3 } } }
      attr { key: "empty" value { list { } } }
      attr { key: "f2" value { func { name: "g" attr { key: "T" value { type: DT_INT32 } } } } }
      attr { key: "p" value { placeholder: "T" } }
      experimental_debug_info { original_node_names: "x" nested { a: [1, { b: 2 }] } }
    })");
  ASSERT_EQ(graph.nodes.size(), 1u);
  const NodeDef& node = graph.nodes[0];
  EXPECT_EQ(graph.producer, 27);
  EXPECT_EQ(Inputs(graph, "n"), "a b:1 ^c");
  EXPECT_EQ(node.attrs.String("s"), "tab\t octalA hexB \"quoted\" u\xC3\xA9 joined");
  EXPECT_EQ(node.attrs.Int("i", 0), -16);
  EXPECT_FLOAT_EQ(node.attrs.Float("f", 0), 1.5e-3f);
  EXPECT_EQ(node.attrs.Float("inf", 0), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(node.attrs.Bool("b", false));
  EXPECT_TRUE(IsRef(node.attrs.Type("t")));
  EXPECT_EQ(node.attrs.Find("shape")->As<PartialShape>()->ToString(), "[?,3]");
  EXPECT_EQ(node.attrs.Find("scalar")->As<PartialShape>()->ToString(), "[]");
  EXPECT_TRUE(node.attrs.Find("unknown")->As<PartialShape>()->unknown_rank);
  EXPECT_THAT(*node.attrs.Find("list")->AsListOf<int64_t>(), ElementsAre(1, 2, 3));
  EXPECT_NE(node.attrs.Find("empty")->As<AttrList>(), nullptr);
  EXPECT_EQ(node.attrs.Find("f2")->As<FunctionRef>()->attrs.Type("T"), DataType::kInt32);
  EXPECT_EQ(node.attrs.Find("p")->As<Placeholder>()->name, "T");
}

TEST(TextReader, ErrorsNameTheLine) {
  EXPECT_THAT(Error("node {\n  name: 'a'\n  nmae: 'b'\n}"),
              HasSubstr("line 3: NodeDef has no field 'nmae'"));
  EXPECT_THAT(Error("node {\n name: 5 }"), HasSubstr("line 2: 'name' is a string, found '5'"));
  EXPECT_THAT(Error("node { name: 'a'\n"), HasSubstr("the end of the text"));
  EXPECT_THAT(Error("node { name: 'a\n' }"), HasSubstr("line 1: a string is not closed"));
  EXPECT_THAT(Error("node { name: '\\q' }"), HasSubstr("unknown escape"));
  EXPECT_THAT(Error("node 'x'"), HasSubstr("expected ':' or '{' after 'node'"));
  EXPECT_THAT(Error("node { attr { value { type: DT_FLAOT } } }"), HasSubstr("DT_FLAOT"));
  EXPECT_THAT(Error("node { attr { value { i: 1.5 } } }"), HasSubstr("'i' is an integer"));
  EXPECT_THAT(Error("node { attr { value { b: maybe } } }"), HasSubstr("true or false"));
  EXPECT_THAT(Error("}"), HasSubstr("expected a field of GraphDef"));
  EXPECT_THAT(Error("\x01"), HasSubstr("this is not text"));
}

TEST(TextReader, DeepNestingIsAnError) {
  std::string deep = "node { attr { key: 'a' value { ";
  for (int i = 0; i < 100000; ++i) deep += "func { attr { key: 'a' value { ";
  EXPECT_THAT(Error(deep), HasSubstr("nested too deep"));
  EXPECT_THAT(Error(absl::StrCat("node { experimental_type ", std::string(100000, '{'))),
              HasSubstr("nested too deep"));
}

TEST(TextReader, TellsTextFromBytes) {
  const GraphDef graph = ParseGraph("node { name: 'abcdefghij' op: 'Neg' }");
  EXPECT_FALSE(LooksLikeText(WriteGraphDef(graph)));
  EXPECT_FALSE(LooksLikeText(""));
  EXPECT_TRUE(LooksLikeText("\n\nnode { name: 'a' }"));
  EXPECT_TRUE(LooksLikeText("# comment\nnode { }"));
}

}  // namespace
}  // namespace tektite::graph_def
