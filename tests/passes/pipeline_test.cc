// The pipeline's own work: order, switches, dumps, messages.
#include "jit/passes/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "jit/passes/canonicalize/rewriter.h"
#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes {
namespace {

constexpr char kText[] = R"(
graph @my.cluster(%x: f32[4]) -> (f32[4]) {
  %0: f32[4] = neg(%x)
  %1: f32[4] = neg(%0)
  %2: f32[4] = exp(%x)
  return %1
}
)";

std::unique_ptr<ir::Graph> TestGraph() { return *ir::Parse(kText); }

TEST(Pipeline, RunsNamedPasses) {
  auto graph = TestGraph();
  Flags flags;
  PassContext context(flags);
  ASSERT_TRUE(RunPasses(*graph, {"eliminate_dead"}, context).ok());
  EXPECT_EQ(graph->num_nodes(), 3);
  ASSERT_EQ(context.timings.size(), 1);
  EXPECT_TRUE(context.timings[0].changed);
  ASSERT_TRUE(RunPasses(*graph, {"simplify"}, context).ok());
  EXPECT_EQ(graph->num_nodes(), 1);
}

TEST(Pipeline, NamesAnUnknownPass) {
  auto graph = TestGraph();
  Flags flags;
  PassContext context(flags);
  EXPECT_THAT(std::string(RunPasses(*graph, {"fuze"}, context).message()),
              testing::AllOf(testing::HasSubstr("'fuze'"), testing::HasSubstr("eliminate_dead")));
}

TEST(Pipeline, LeavesOutDisabledPasses) {
  auto graph = TestGraph();
  Flags flags;
  flags.disable_passes = "canonicalize,fuse";
  PassContext context(flags);
  ASSERT_TRUE(RunPasses(*graph, {"simplify"}, context).ok());
  EXPECT_EQ(graph->num_nodes(), 3);
  for (const PassContext::Timing& timing : context.timings) {
    EXPECT_NE(timing.pass, "canonicalize");
  }
}

TEST(Pipeline, DumpsUnderStableNames) {
  const std::filesystem::path dir = std::filesystem::path(testing::TempDir()) / "tektite_dump";
  std::filesystem::create_directories(dir);
  Flags flags;
  flags.dump_to = dir.string();
  for (int run = 0; run < 2; ++run) {
    auto graph = TestGraph();
    PassContext context(flags);
    ASSERT_TRUE(RunPasses(*graph, {"simplify"}, context).ok());
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre(
                         "my_cluster.00_input.tir", "my_cluster.01_canonicalize.tir",
                         "my_cluster.02_fold_constants.tir", "my_cluster.03_eliminate_common.tir",
                         "my_cluster.04_eliminate_dead.tir", "my_cluster.05_split_carried.tir",
                         "my_cluster.06_eliminate_carried.tir", "my_cluster.07_split_checks.tir",
                         "my_cluster.08_hoist_products.tir", "my_cluster.09_hoist_invariants.tir",
                         "my_cluster.10_sink_products.tir"));
  std::ifstream stream(dir / "my_cluster.01_canonicalize.tir");
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  auto graph = ir::Parse(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ((*graph)->num_nodes(), 1);
  std::filesystem::remove_all(dir);
}

TEST(Pipeline, VerifiesAfterEachPass) {
  auto graph = TestGraph();
  graph->outputs()[0].node->set_shape(0, ir::Shape(ir::DType::kF32, {5}));
  Flags flags;
  flags.verify = true;
  flags.disable_passes = "canonicalize";
  PassContext context(flags);
  absl::Status status = RunPasses(*graph, {"simplify"}, context);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("after fold_constants"));
}

// a + b  ->  a - (-b), and back
ir::Value AddToSub(ir::Node* node, ops::FuncBuilder& b) {
  return b.Sub(node->operand(0), b.Neg(node->operand(1)));
}
ir::Value SubToAdd(ir::Node* node, ops::FuncBuilder& b) {
  const ir::Value negated = node->operand(1);
  if (negated.node->op() != ir::Op::kNeg) return {};
  return b.Add(node->operand(0), negated.node->operand(0));
}

// Two rules once undid each other unnoticed, and a model took twice its time.
TEST(Rewriter, ReportsRulesThatUndoEachOther) {
  constexpr absl::string_view kSum = R"(
graph @sum(%x: f32[4], %y: f32[4]) -> (f32[4]) {
  %0: f32[4] = add(%x, %y)
  %1: f32[4] = neg(%0)
  %2: f32[4] = neg(%1)
  return %2
}
)";
  RuleTable table;
  table.Add({"AddToSub", &AddToSub}, {ir::Op::kAdd});
  table.Add({"SubToAdd", &SubToAdd}, {ir::Op::kSub});
  table.Add({"NegOfNeg", &rules::NegOfNeg}, {ir::Op::kNeg});
  for (const bool verify : {false, true}) {
    Flags flags;
    flags.verify = verify;
    PassContext context(flags);
    auto graph = *ir::Parse(kSum);
    testing::internal::CaptureStderr();
    const absl::StatusOr<bool> changed = Rewrite(*graph, table, context);
    const std::string warning = testing::internal::GetCapturedStderr();
    EXPECT_EQ(context.unsettled, 1);
    // NegOfNeg applied as well, but it came to its end.
    const std::string report = "settled after 32 sweeps; the later half applied AddToSub, SubToAdd";
    if (verify) {
      EXPECT_EQ(changed.status().code(), absl::StatusCode::kInternal);
      EXPECT_THAT(std::string(changed.status().message()), testing::EndsWith(report));
      EXPECT_EQ(warning, "");
    } else {
      EXPECT_TRUE(changed.ok()) << changed.status();
      EXPECT_THAT(warning, testing::EndsWith(report + "\n"));
    }
  }
}

TEST(Rewriter, SaysNothingWhereRulesComeToRest) {
  Flags flags;
  flags.verify = true;
  PassContext context(flags);
  RuleTable table;
  table.Add({"NegOfNeg", &rules::NegOfNeg}, {ir::Op::kNeg});
  auto graph = TestGraph();
  EXPECT_EQ(*Rewrite(*graph, table, context), true);
  EXPECT_EQ(*Rewrite(*graph, table, context), false);
  EXPECT_EQ(context.unsettled, 0);
}

// Every row can be named, and the simplifying passes stand first.
TEST(Pipeline, ListsItsPasses) {
  ASSERT_FALSE(AllPasses().empty());
  EXPECT_EQ(AllPasses()[0].name, "canonicalize");
  for (const PassInfo& pass : AllPasses()) EXPECT_FALSE(pass.sentence.empty()) << pass.name;
}

}  // namespace
}  // namespace tektite::passes
