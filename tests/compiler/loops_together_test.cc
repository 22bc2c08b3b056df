// Loops that do not read each other's results: their turns run on different threads.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "jit/compiler/compiler.h"
#include "jit/compiler/specialize.h"
#include "jit/reference/interpreter.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/runtime/test_pool.h"

namespace tektite::compiler {
namespace {

using ir::Literal;

constexpr int kRows = 24, kWidth = 64;
// h <- tanh(h x u) / 4 + x, in which the product is a buffer of each turn's own.
constexpr char kProduct[] = R"(
      %p: f32[24,64] = dot_general(%h, %u) {lhs_contracting = [1], rhs_contracting = [0]}
      %q: f32[24,64] = dot_general(%p, %u) {lhs_contracting = [1], rhs_contracting = [0]}
      %t: f32[24,64] = tanh(%q)
      %quarter: f32[] = constant() {value = f32[]{0.25}}
      %quarters: f32[24,64] = broadcast_in_dim(%quarter) {dimensions = [], shape = (24, 64)}
      %s: f32[24,64] = mul(%t, %quarters)
      %y: f32[24,64] = add(%s, %x))";
// The same in every second turn, and h - x in the others.
constexpr char kChoice[] = R"(
      %two: s32[] = constant() {value = s32[]{2}}
      %r: s32[] = rem(%i, %two)
      %first: s32[] = constant() {value = s32[]{0}}
      %even: bool[] = compare(%r, %first) {direction = "eq"}
      %y: f32[24,64] = conditional(%even, %h, %x, %u)
        graph @product(%h: f32[24,64], %x: f32[24,64], %u: f32[64,64]) -> (f32[24,64]) {
          %p: f32[24,64] = dot_general(%h, %u) {lhs_contracting = [1], rhs_contracting = [0]}
          %t: f32[24,64] = tanh(%p)
          %y: f32[24,64] = add(%t, %x)
          return %y
        }
        graph @difference(%h: f32[24,64], %x: f32[24,64], %u: f32[64,64]) -> (f32[24,64]) {
          %y: f32[24,64] = sub(%h, %x)
          return %y
        }
)";

// A loop named `name` of `turns` turns from `h` on.
std::string Loop(const std::string& name, int turns, const std::string& h, const std::string& x,
                 const std::string& body) {
  return absl::StrCat("  %", name, "_begin: s32[] = constant() {value = s32[]{0}}\n  %", name,
                      ":4 : (s32[], f32[24,64], f32[24,64], f32[64,64]) = while(%", name,
                      "_begin, ", h, ", ", x, R"(, %weights)
    graph @condition(%i: s32[], %h: f32[24,64], %x: f32[24,64], %u: f32[64,64]) -> (bool[]) {
      %n: s32[] = constant() {value = s32[]{)",
                      turns, R"(}}
      %c: bool[] = compare(%i, %n) {direction = "lt"}
      return %c
    }
    graph @body(%i: s32[], %h: f32[24,64], %x: f32[24,64], %u: f32[64,64]) -> (s32[], f32[24,64], f32[24,64], f32[64,64]) {)",
                      body, R"(
      %one: s32[] = constant() {value = s32[]{1}}
      %next: s32[] = add(%i, %one)
      return %next, %y, %x, %u
    }
)");
}

std::string GraphOf(const std::string& steps, const std::vector<std::string>& results) {
  const std::vector<std::string> types(results.size(), "f32[24,64]");
  return absl::StrCat("graph @f(%a: f32[24,64], %b: f32[24,64], %weights: f32[64,64]) -> (",
                      absl::StrJoin(types, ", "), ") {\n", steps, "  return ",
                      absl::StrJoin(results, ", "), "\n}");
}

void ExpectNear(const Literal& got, const Literal& want) {
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    const float a = got.data<float>()[i], b = want.data<float>()[i];
    EXPECT_NEAR(a, b, 1e-5f * std::max(1.0f, std::fabs(b))) << "element " << i;
    if (testing::Test::HasFailure()) return;
  }
}

// "call 2 while '': ..." and "steps 2, 9 side by side", as Executable::PlanText has them.
bool HasRoundOfLoops(const std::string& plan) {
  std::set<std::string> loops;
  for (absl::string_view line : absl::StrSplit(plan, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() > 2 && words[0] == "call" && words[2] == "while") loops.insert(words[1]);
    if (!absl::ConsumePrefix(&line, "steps ") || !absl::ConsumeSuffix(&line, " side by side")) {
      continue;
    }
    const std::vector<std::string> steps = absl::StrSplit(line, ", ");
    if (std::count_if(steps.begin(), steps.end(),
                      [&](const std::string& s) { return loops.count(s) > 0; }) > 1) {
      return true;
    }
  }
  return false;
}

class Host : public runtime::CallHost {
 public:
  explicit Host(runtime::HostPool pool) : pool_(pool) {}
  runtime::HostPool Pool() override { return pool_; }
  void* Allocate(int result, const runtime::TensorType& type) override {
    return results.insert_or_assign(result, Literal::Allocate(type.dtype, type.dims))
        .first->second.mutable_data<float>();
  }
  std::map<int, Literal> results;

 private:
  const runtime::HostPool pool_;
};

class LoopsTogether : public testing::Test {
 protected:
  LoopsTogether() {
    CompilerOptions options;
    options.backends = tektite::c_api::AllBackends();
    options.backend = "cpu";
    options.flags.verify = true;
    compiler_ = *Compiler::Create(options);
    std::mt19937 random(3);
    for (const std::vector<int64_t>& sizes :
         {std::vector<int64_t>{kRows, kWidth}, {kRows, kWidth}, {kWidth, kWidth}}) {
      arguments_.push_back(Literal::Allocate(ir::DType::kF32, sizes));
      for (int64_t i = 0; i < arguments_.back().num_elements(); ++i) {
        arguments_.back().mutable_data<float>()[i] = (static_cast<int>(random() % 17) - 8) / 32.0f;
      }
    }
  }
  // Runs it on no, one and two workers: the same bits, and near to the interpreter's.  Returns
  // whether loops run side by side.
  bool Check(const std::string& text) {
    SCOPED_TRACE(text);
    const auto graph = ParseGraph(text);
    if (!graph.ok()) {
      ADD_FAILURE() << graph.status();
      return false;
    }
    const auto want = reference::Evaluate(**graph, arguments_);
    CompileJob job;
    job.cluster = "loops";
    const auto executable = compiler_->Compile((*graph)->Clone(), job);
    if (!want.ok() || !executable.ok()) {
      ADD_FAILURE() << want.status() << executable.status();
      return false;
    }
    std::vector<runtime::Argument> raw;
    for (const Literal& a : arguments_) raw.push_back({a.raw(), 0, a.sizes().data()});
    std::map<int, Literal> first;
    for (const int workers : {0, 1, 2, 2, 2}) {
      runtime::Pool pool(workers);
      Host host(workers == 0 ? runtime::HostPool{} : pool.Host());
      EXPECT_TRUE((*executable)->Run(raw, host).ok());
      if (workers == 0) first = host.results;
      for (const auto& [k, result] : host.results) {
        EXPECT_TRUE(result == first.at(k)) << "result " << k << " on " << workers << " workers";
        if (workers == 0) ExpectNear(result, (*want)[k]);
      }
    }
    return HasRoundOfLoops((*executable)->PlanText());
  }

  std::shared_ptr<Compiler> compiler_;
  std::vector<Literal> arguments_;
};

TEST_F(LoopsTogether, OfOneInitialValue) {
  EXPECT_TRUE(Check(GraphOf(Loop("f", 9, "%a", "%b", kProduct) + Loop("g", 9, "%a", "%a", kProduct),
                            {"%f#1", "%g#1"})));
}

TEST_F(LoopsTogether, WithWorkInBetweenThatTheSecondNeeds) {
  const std::string between = R"(
  %n: f32[24,64] = dot_general(%a, %weights) {lhs_contracting = [1], rhs_contracting = [0]}
  %late: f32[24,64] = dot_general(%f#1, %weights) {lhs_contracting = [1], rhs_contracting = [0]}
)";
  EXPECT_TRUE(Check(GraphOf(
      absl::StrCat(Loop("f", 5, "%a", "%b", kProduct), between, Loop("g", 8, "%n", "%b", kChoice)),
      {"%f#1", "%late", "%g#1", "%n"})));
}

TEST_F(LoopsTogether, NotWhereOneReadsTheOther) {
  EXPECT_FALSE(Check(GraphOf(
      Loop("f", 5, "%a", "%b", kProduct) + Loop("g", 8, "%b", "%f#1", kProduct), {"%g#1"})));
  EXPECT_FALSE(Check(GraphOf(absl::StrCat(Loop("f", 5, "%a", "%b", kProduct),
                                          "  %n: f32[24,64] = dot_general(%f#1, %weights) "
                                          "{lhs_contracting = [1], rhs_contracting = [0]}\n",
                                          Loop("g", 8, "%n", "%b", kProduct)),
                             {"%g#1"})));
}

TEST_F(LoopsTogether, OfNoAndOneTurn) {
  EXPECT_TRUE(Check(
      GraphOf(absl::StrCat(Loop("f", 0, "%a", "%b", kProduct), Loop("g", 1, "%a", "%b", kProduct),
                           Loop("h", 4, "%b", "%a", kChoice)),
              {"%f#1", "%g#1", "%h#1"})));
}

TEST_F(LoopsTogether, AtRandom) {
  std::mt19937 random(11);
  int together = 0;
  for (int trial = 0; trial < 12; ++trial) {
    std::vector<std::string> values = {"%a", "%b"};
    std::string steps;
    for (int l = 0, loops = 2 + static_cast<int>(random() % 4); l < loops; ++l) {
      const auto any = [&] { return values[random() % values.size()]; };
      const std::string name = absl::StrCat("l", l), h = any(), x = any();
      if (random() % 3 == 0) {
        absl::StrAppend(&steps, "  %p", l, ": f32[24,64] = dot_general(", any(),
                        ", %weights) {lhs_contracting = [1], rhs_contracting = [0]}\n");
        values.push_back(absl::StrCat("%p", l));
      }
      absl::StrAppend(&steps, Loop(name, static_cast<int>(random() % 6), h, x,
                                   random() % 3 == 0 ? kChoice : kProduct));
      values.push_back(absl::StrCat("%", name, "#1"));
    }
    together += Check(GraphOf(steps, {values.begin() + 2, values.end()}));
    if (HasFailure()) return;
  }
  EXPECT_GE(together, 6);
}

}  // namespace
}  // namespace tektite::compiler
