// What must hold of sizes before a call runs.
#include "jit/runtime/size_checks.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace tektite::runtime {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> ChecksOf(absl::string_view text) {
  auto graph = ir::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  std::vector<std::string> checks;
  if (!graph.ok()) return checks;
  ir::DimProgram program;
  for (const SizeCheck& check : CollectSizeChecks(**graph, &program)) checks.push_back(check.text);
  return checks;
}

// A loop that reads a row of `x` in each turn, and one outside of it.
std::string Rows(absl::string_view attributes, absl::string_view outside = "") {
  return absl::StrReplaceAll(
      R"(graph @f(%x: f32[t,4], %y: f32[u,4], %n: s32[]) -> (f32[1,4]) {
  %zero: s32[] = constant() {value = s32[]{0}}
  %f0: f32[] = constant() {value = f32[]{0}}
  %first: f32[1,4] = broadcast_in_dim(%f0) {dimensions = [], shape = (1, 4)}
  OUTSIDE
  %l:4 : (s32[], s32[], f32[1,4], f32[t,4]) = while(%zero, %n, %first, %x) ATTRIBUTES
    graph @condition(%i: s32[], %n: s32[], %h: f32[1,4], %x: f32[t,4]) -> (bool[]) {
      %0: bool[] = compare(%i, %n) {direction = "lt"}
      return %0
    }
    graph @body(%i: s32[], %n: s32[], %h: f32[1,4], %x: f32[t,4]) -> (s32[], s32[], f32[1,4], f32[t,4]) {
      %one: s32[] = constant() {value = s32[]{1}}
      %o: s32[] = constant() {value = s32[]{0}}
      %next: s32[] = add(%i, %one)
      %row: f32[1,4] = dynamic_slice(%x, %i, %o) {sizes = (1, 4)}
      return %next, %n, %row, %x
    }
  return %l#2
})",
      {{"ATTRIBUTES", attributes}, {"OUTSIDE", outside}});
}

// Guards against: a call with a sequence of length 0 that TensorFlow had to run, though its loop
// takes no turn.
TEST(SizeChecks, ABodyReliesOnTheLengthOfItsSequence) {
  EXPECT_THAT(ChecksOf(Rows("")), UnorderedElementsAre("1 <= t"));
  EXPECT_THAT(ChecksOf(Rows("{sizes = (t)}")), IsEmpty());
  EXPECT_THAT(ChecksOf(Rows("{sizes = (u)}")), UnorderedElementsAre("1 <= t"));
  EXPECT_THAT(ChecksOf(Rows("{sizes = (t - 1)}")), IsEmpty());
}

TEST(SizeChecks, WhatIsOutsideOfTheBodyDoesNot) {
  const std::string outside = "%s: f32[1,4] = dynamic_slice(%x, %n, %zero) {sizes = (1, 4)}";
  EXPECT_THAT(ChecksOf(Rows("{sizes = (t)}", outside)), UnorderedElementsAre("1 <= t"));
}

}  // namespace
}  // namespace tektite::runtime
