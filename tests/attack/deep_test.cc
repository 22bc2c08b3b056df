// Graphs whose nodes stand on each other in long chains, or in few that have very many ways through
// them: each is compiled, or refused, in time.
//
// Guards against: walks over conditions and operands that took a value again for each of its
// readers, 2^n times through n ops, and walks that called themselves for every node of a chain.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/c_api/test_host.h"

namespace tektite {
namespace {

constexpr int kWays = 50, kChain = 3000;

// A loop that goes on while %i < 4 and %i < %n, said once more by each of many conjunctions.
TEST(Deep, LoopsWhoseConditionsShareConditions) {
  std::string text = R"(graph @f(%x: f32[3]) -> (f32[3]) {
    %zero: s32[] = constant() {value = s32[]{0}}
    %w:2 : (s32[], f32[3]) = while(%zero, %x)
    graph @condition(%i: s32[], %a: f32[3]) -> (bool[]) {
      %four: s32[] = constant() {value = s32[]{4}}
      %nine: s32[] = constant() {value = s32[]{9}}
      %c0: bool[] = compare(%i, %four) {direction = "lt"}
      %d: bool[] = compare(%i, %nine) {direction = "lt"}
  )";
  for (int i = 0; i < kWays; ++i) {
    absl::StrAppend(&text, "%b", i, ": bool[] = and(%c", i, ", %d)\n");
    absl::StrAppend(&text, "%c", i + 1, ": bool[] = and(%b", i, ", %c", i, ")\n");
  }
  absl::StrAppend(&text, "return %c", kWays, R"(
    }
    graph @body(%i: s32[], %a: f32[3]) -> (s32[], f32[3]) {
      %one: s32[] = constant() {value = s32[]{1}}
      %next: s32[] = add(%i, %one)
      %y: f32[3] = add(%a, %a)
      return %next, %y
    }
    return %w#1
  })");
  const CompilerPtr compiler = MakeCompiler("", "cpu");
  const ClusterPtr cluster = MakeCluster(compiler.get(), text);
  Call call;
  ASSERT_EQ(call.Run(cluster.get(), {{{3}, {1, 2, 3}}}), TEKTITE_OK) << call.message;
  EXPECT_EQ(call.results[0], (std::vector<float>{16, 32, 48}));
}

// What is padded with zeros is asked whether it is negative anywhere.
TEST(Deep, WindowsOverValuesThatShareValues) {
  std::string text = "graph @f(%m0: f32[4], %y: f32[4]) -> (f32[4]) {\n";
  for (int i = 0; i < kWays; ++i) {
    absl::StrAppend(&text, "%a", i, ": f32[4] = min(%m", i, ", %y)\n");
    absl::StrAppend(&text, "%m", i + 1, ": f32[4] = max(%a", i, ", %m", i, ")\n");
  }
  absl::StrAppend(&text, R"(%zero: f32[] = constant() {value = f32[]{0}}
    %p: f32[6] = pad(%m)",
                  kWays, R"(, %zero) {low = [1], high = [1]}
    %r: f32[4] = reduce_window(%p) {reducer = "max", window = [3]}
    return %r
  })");
  const CompilerPtr compiler = MakeCompiler("", "cpu");
  const ClusterPtr cluster = MakeCluster(compiler.get(), text);
  Call call;
  ASSERT_EQ(call.Run(cluster.get(), {{{4}, {1, 2, 3, 4}}, {{4}, {0, 0, 0, 0}}}), TEKTITE_OK)
      << call.message;
  EXPECT_EQ(call.results[0], (std::vector<float>{2, 3, 4, 4}));
}

// Whatever a chain is of, it is answered.
TEST(Deep, LongChains) {
  const std::pair<const char*, std::function<std::string(int)>> kinds[] = {
      {"neg", [](int i) { return absl::StrCat("f32[8,8] = neg(%a", i, ")"); }},
      {"add", [](int i) { return absl::StrCat("f32[8,8] = add(%a", i, ", %y)"); }},
      {"max", [](int i) { return absl::StrCat("f32[8,8] = max(%y, %a", i, ")"); }},
      {"exp", [](int i) { return absl::StrCat("f32[8,8] = exp(%a", i, ")"); }},
      {"transpose",
       [](int i) {
         return absl::StrCat("f32[8,8] = transpose(%a", i, ") {permutation = [1, 0]}");
       }},
      {"reverse",
       [](int i) { return absl::StrCat("f32[8,8] = reverse(%a", i, ") {dimensions = [0]}"); }},
  };
  const CompilerPtr compiler = MakeCompiler("", "cpu");
  for (const auto& [name, node] : kinds) {
    SCOPED_TRACE(name);
    std::string text = "graph @f(%a0: f32[8,8], %y: f32[8,8]) -> (f32[8,8]) {\n";
    for (int i = 0; i < kChain; ++i) absl::StrAppend(&text, "%a", i + 1, ": ", node(i), "\n");
    absl::StrAppend(&text, "return %a", kChain, "\n}");
    const ClusterPtr cluster = MakeCluster(compiler.get(), text);
    ASSERT_NE(cluster, nullptr);
    Call call;
    const Arg x = {{8, 8}, std::vector<float>(64, 0.5F)};
    const int code = call.Run(cluster.get(), {x, x});
    EXPECT_TRUE(code == TEKTITE_OK || code == TEKTITE_DEADLINE_EXCEEDED) << call.message;
  }
}

}  // namespace
}  // namespace tektite
