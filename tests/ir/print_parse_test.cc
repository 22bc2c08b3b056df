#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/ir/graph.h"
#include "tests/ir/every_op.h"

namespace tektite::ir {
namespace {

using ::testing::HasSubstr;

std::vector<std::unique_ptr<Graph>> EveryOpGraphs() {
  auto graphs = ParseAll(tektite::testing::EveryOpText());
  EXPECT_TRUE(graphs.ok()) << graphs.status();
  if (!graphs.ok()) return {};
  return *std::move(graphs);
}

TEST(PrintParse, EveryOpOccursAndRoundTrips) {
  std::set<Op> seen;
  for (const auto& graph : EveryOpGraphs()) {
    const std::string text = Print(*graph);
    EXPECT_THAT(tektite::testing::EveryOpText(), HasSubstr(text));  // written as printed
    auto again = Parse(text);
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
    EXPECT_EQ(Print(**again), text);
    EXPECT_EQ(PrintCanonical(**again), PrintCanonical(*graph));
    EXPECT_EQ(Print(*graph->Clone()), text);
    for (const auto& node : graph->nodes()) seen.insert(node->op());
  }
  for (int i = 0; i < kNumOps; ++i) {
    EXPECT_TRUE(seen.count(static_cast<Op>(i))) << OpName(static_cast<Op>(i));
  }
}

TEST(PrintParse, EveryKindOfAttributeIsExact) {
  const Dim n = Dim::Symbol("n");
  Attributes attrs;
  attrs.Set(Attr::weight, true)
      .Set(Attr::k, int64_t{INT64_MIN})
      .Set(Attr::reducer, std::string("a \"b\"\n\\ \x01\xff"))
      .Set(Attr::dimensions, std::vector<int64_t>{})
      .Set(Attr::low, std::vector<int64_t>{-1, 2})
      .Set(Attr::shape, Dims{Max(n, Dim(2)), n * 2 + 1})
      .Set(Attr::sizes, Dims{})
      .Set(Attr::dtype, DType::kBF16)
      .Set(Attr::kind, FusionKind::kWindow)
      .Set(Attr::value, Literal::FromVector<float>({2}, {1, -0.0f}));
  Graph graph("weird name: (");
  Value p = graph.AddParameter(Shape(DType::kF32, {n}), "layer/kernel:0");
  graph.AddParameter(Shape(DType::kF32, {n}), "x");
  graph.AddParameter(Shape(DType::kF32, {n}), "x");  // names need not differ
  p.node->attrs().Set(Attr::weight, true);
  Node* node = graph.Append(Op::kNeg, {p}, attrs, {p.shape()});
  node->set_name("scope/op \"quoted\"");
  graph.SetOutputs({node->result(), p});
  graph.guards().push_back({n, Dim(3)});
  const std::string text = Print(graph);
  auto parsed = Parse(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
  EXPECT_EQ(Print(**parsed), text);
  EXPECT_EQ((*parsed)->parameter(0)->name(), "layer/kernel:0");
  EXPECT_EQ((*parsed)->parameter(2)->name(), "x");
  EXPECT_TRUE((*parsed)->parameter(0)->Bool(Attr::weight));
  EXPECT_TRUE((*parsed)->outputs()[0].node->attrs() == attrs) << text;
}

TEST(PrintParse, TheFormIsTheDocumentedOne) {
  Graph g("f");
  Value x = g.AddParameter(Shape(DType::kF32, {4}), "x");
  Node* y = g.Append(Op::kNeg, {x}, {}, {x.shape()});
  y->set_name("a/Neg");
  g.SetOutputs({y->result(0)});
  EXPECT_EQ(Print(g),
            "graph @f(%x: f32[4]) -> (f32[4]) {\n  %1: f32[4] = neg(%x) \"a/Neg\"\n"
            "  return %1\n}\n");
  EXPECT_EQ(PrintCanonical(g),
            "graph (%0: f32[4]) -> (f32[4]) {\n  %1: f32[4] = neg(%0)\n  return %1\n}\n");
}

TEST(PrintParse, CanonicalTextForgetsNamesOnly) {
  auto a = Parse("graph @a(%x: f32[n]) -> (f32[n]) { %y: f32[n] = neg(%x) \"q\" return %y }");
  auto b = Parse("graph @b(%z: f32[n]) -> (f32[n]) { %1: f32[n] = neg(%z) return %1 }");
  auto c = Parse("graph @b(%z: f32[m]) -> (f32[m]) { %1: f32[m] = neg(%z) return %1 }");
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ(PrintCanonical(**a), PrintCanonical(**b));
  EXPECT_NE(PrintCanonical(**a), PrintCanonical(**c));
}

TEST(Parse, ReadsFreelyWrittenText) {
  auto g = Parse(R"(
      // A comment.
      graph @g(%x:f32[ n , 2*m ],%s:f32[])->(f32[n,2*m]){guard n==2*m  // assumed
        %sum : f32 [n,2*m]=add(%x,%x){}
        return %sum})");
  ASSERT_TRUE(g.ok()) << g.status();
  EXPECT_EQ((*g)->guards().size(), 1u);
  EXPECT_EQ((*g)->outputs()[0].shape().ToString(), "f32[n,2*m]");
}

TEST(Parse, NamesPlaceAndCause) {
  struct Case {
    const char* text;
    const char* error;
  };
  for (const Case& c : std::vector<Case>{
           {"", "found 0"},
           {"graph", "1:6: expected '@'"},
           {"hello", "1:1: expected 'graph'"},
           {"graph @g() -> () {\n  %0: f32[] = foo()\n return }", "2:15: unknown op 'foo'"},
           {"graph @g() -> () {\n  %0: f33[] = iota()\n return }", "unknown element type 'f33'"},
           {"graph @g() -> () {\n  %0: f32[] = neg(%q)\n return }", "2:20: %q is not defined"},
           {"graph @g() -> () { %0: f32[] = iota() {foo = 1} return }", "unknown attribute 'foo'"},
           {"graph @g() -> () { %0: f32[] = iota() {k = 1, k = 2} return }", "given twice"},
           {"graph @g() -> () { %0: f32[] = iota() {k = x} return }", "'x' is no attribute value"},
           {"graph @g() -> () { %0: f32[] = iota() %0: f32[] = iota() return }", "defined twice"},
           {"graph @g(%x: f32[]) -> () { %1: f32[] = parameter() return }", "first line"},
           {"graph @g(%x: f32[]) -> (f32[2]) { return %x }", "declared f32[2]"},
           {"graph @g(%x: f32[]) -> () { return %x }", "returns 1 values, declares 0"},
           {"graph @g(%x: f32[n +]) -> () { return }", "1:18: dimension: expected"},
           {"graph @g() -> () { %0:3 : (f32[]) = call() return }", "3 results but 1 types"},
           {"graph @g() -> () { %0:0 : () = call() graph @f() -> () { return } %1: f32[] = neg(%0) "
            "return }",
            "0 results"},
           {"graph @g() -> () { %0: f32[2] = constant() {value = f32[2]{1}} return }",
            "too few elements"},
           {"graph @g() -> () { %0: f32[2] = constant() {value = u8[2]{1, 256}} return }",
            "'256' is no u8"},
           {"graph @g() -> () { %0: f32[2] = constant() {value = f32[n]{1}} return }",
            "constant sizes"},
           {"graph @g() -> () { %0: f32[2] = constant() {value = u8[9000000000]{#00}} return }",
            "too few elements"},
           {"graph @g() -> () { %0: f32[] = iota() \"abc", "string without an end"},
           {"graph @g() -> () { return } graph @h() -> () { return }", "found 2"},
       }) {
    auto g = Parse(c.text);
    ASSERT_FALSE(g.ok()) << c.text;
    EXPECT_EQ(g.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(g.status().message()), HasSubstr(c.error)) << c.text;
  }
}

TEST(Parse, BoundsNesting) {
  std::string text = "graph @g() -> () { return }";
  for (int i = 0; i < 3000; ++i) {
    text = absl::StrCat("graph @g() -> () { %0:0 : () = call() ", text, " return }");
  }
  auto g = Parse(text);
  ASSERT_FALSE(g.ok());
  EXPECT_THAT(std::string(g.status().message()), HasSubstr("nested too deeply"));
}

// Damaged text is an error or some other graph, which then prints and parses like any graph.
TEST(Parse, MutatedTextNeverCrashes) {
  std::mt19937_64 random(7);
  std::vector<std::string> texts;
  for (const auto& graph : EveryOpGraphs()) texts.push_back(Print(*graph));
  const std::string alphabet = "%@#{}[]()\"\\,:=-+*/<> \n0123456789afnmx.inf";
  int parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = texts[random() % texts.size()];
    for (int edits = 1 + random() % 3; edits > 0 && !text.empty(); --edits) {
      const size_t at = random() % text.size();
      switch (random() % 6) {
        case 0:
          text.erase(at, 1 + random() % 8);
          break;
        case 1:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 2:
          text[at] = alphabet[random() % alphabet.size()];
          break;
        case 3:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
        case 4:
          text.resize(at);
          break;
        default:
          text.insert(at, 1, alphabet[random() % alphabet.size()]);
          break;
      }
    }
    auto graph = Parse(text);
    if (!graph.ok()) continue;
    ++parsed;
    const std::string printed = Print(**graph);
    auto again = Parse(printed);
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << printed;
    ASSERT_EQ(Print(**again), printed);
  }
  EXPECT_GT(parsed, 100);  // otherwise the mutations test nothing but the first check
}

}  // namespace
}  // namespace tektite::ir
