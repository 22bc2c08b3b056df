// The pipeline's own work: order, switches, dumps, messages.
#include "jit/passes/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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
                         "my_cluster.04_eliminate_dead.tir"));
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

// Every row can be named, and the simplifying passes stand first.
TEST(Pipeline, ListsItsPasses) {
  ASSERT_FALSE(AllPasses().empty());
  EXPECT_EQ(AllPasses()[0].name, "canonicalize");
  for (const PassInfo& pass : AllPasses()) EXPECT_FALSE(pass.sentence.empty()) << pass.name;
}

}  // namespace
}  // namespace tektite::passes
