#include "jit/ir/symbols.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tektite::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Symbols, InOrderOfFirstAppearance) {
  auto graph = Parse(R"(
    graph @g(%x: f32[z,4], %y: f32[a + 2*b,z]) -> (f32[c]) {
      guard f == 2
      %2: f32[c] = broadcast_in_dim(%x) {dimensions = [], shape = (c)}
      %3: f32[d] = slice(%2) {limits = (e), starts = (0)}
      return %2
    })");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(SymbolsOf(**graph), ElementsAre("z", "a", "b", "c", "d", "e", "f"));
}

TEST(Symbols, RenamingMakesGraphsThatDifferInNamesEqual) {
  const char* one =
      "graph @g(%x: f32[seq,batch]) -> (f32[batch,seq]) {"
      " %1: f32[batch,seq] = transpose(%x) {permutation = [1, 0]} return %1 }";
  const char* other =
      "graph @g(%x: f32[a,z]) -> (f32[z,a]) {"
      " %1: f32[z,a] = transpose(%x) {permutation = [1, 0]} return %1 }";
  const char* square =
      "graph @g(%x: f32[a,a]) -> (f32[a,a]) {"
      " %1: f32[a,a] = transpose(%x) {permutation = [1, 0]} return %1 }";
  auto text = [](const char* graph) {
    return PrintCanonical(*WithCanonicalSymbols(**Parse(graph)));
  };
  EXPECT_EQ(text(one), text(other));
  EXPECT_NE(text(one), text(square));
}

TEST(Symbols, NoneInAStaticGraph) {
  auto graph = Parse("graph @g(%x: f32[4]) -> (f32[4]) { return %x }");
  EXPECT_THAT(SymbolsOf(**graph), IsEmpty());
  EXPECT_EQ(WithCanonicalSymbols(**graph), nullptr);
}

}  // namespace
}  // namespace tektite::ir
