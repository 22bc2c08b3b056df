// What is decided about kernels: the text of a schedule, and a CPU's list with its reasons.
#include "jit/target/schedules.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/cpu_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/ir/graph.h"
#include "jit/passes/pipeline.h"

namespace tektite::target {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Schedule, IsReadAsItIsPrinted) {
  Schedule schedule;
  EXPECT_EQ(schedule.Print(), "own");
  schedule.implementation = "onednn";
  schedule.variant = "2x12";
  schedule.rhs = {48, 24, true};
  schedule.stands_alone = schedule.features_first = true;
  const std::string text = schedule.Print();
  EXPECT_EQ(text, "onednn, variant = 2x12, columns = 48, pairs = 24, later, alone, features_first");
  const auto read = Schedule::Parse(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->Print(), text);
  EXPECT_EQ(read->Name(), "onednn_2x12");
}

TEST(Schedule, NonsenseIsNoSchedule) {
  for (const char* text : {"", ", alone", "own, alone,", "own, columns = -3", "own, columns = many",
                           "own, columns = 0", "own, rows = 3", "own, variant = "}) {
    EXPECT_THAT(Schedule::Parse(text).status().message(), HasSubstr("is no schedule")) << text;
  }
}

// An attribute that somebody has written by hand.
TEST(Schedule, NonsenseInAGraphIsAnError) {
  auto graph = ir::Parse(R"(
graph @f(%x: f32[4,8]) -> (f32[4,8]) {
  %1: f32[4,8] = fusion(%x) {kind = contraction, schedule = "own, rows = 3"}
    graph @fused(%x: f32[4,8]) -> (f32[4,8]) {
      %1: f32[4,8] = tanh(%x)
      return %1
    }
  return %1
}
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  Flags flags;
  passes::PassContext context(flags);
  EXPECT_THAT(passes::RunPasses(**graph, {"assign_layouts"}, context).message(),
              HasSubstr("'own, rows = 3' is no schedule"));
}

// The implementations that fit the only contraction of the graph, or why not.
std::vector<std::string> Answers(const std::string& text, const Facts& facts) {
  Flags flags;
  auto backend = cpu::CreateCpuBackend(flags);
  auto graph = ir::Parse(text);
  EXPECT_TRUE(backend.ok() && graph.ok()) << graph.status();
  passes::PassContext context(flags);
  std::vector<std::string> answers;
  int asked = 0;
  context.schedules = [&](const ir::Node& fusion, const Facts&) {
    ++asked;
    std::vector<Offer> offers = (*backend)->Schedules(fusion, facts);
    for (const Offer& offer : offers) {
      answers.push_back(offer.schedule.ok() ? offer.schedule->Print()
                                            : absl::StrCat(offer.implementation, ": ",
                                                           offer.schedule.status().message()));
    }
    return offers;
  };
  EXPECT_TRUE(passes::RunPipeline(**graph, context).ok());
  EXPECT_EQ(asked, 1);  // each contraction once
  return answers;
}

std::string Product(int rows) {
  return absl::StrCat("graph @f(%x: f32[", rows, ",64], %w: f32[64,48]) -> (f32[", rows,
                      ",48]) {\n  %2: f32[", rows,
                      ",48] = dot_general(%x, %w) {lhs_contracting = [1], rhs_contracting = [0]}\n"
                      "  return %2\n}\n");
}

TEST(SchedulesOfACpu, EachRowFitsOrSaysWhyNot) {
  const std::vector<std::string> large = Answers(Product(256), Facts());
  EXPECT_EQ(large.back(), "own");
  EXPECT_THAT(large, Contains(HasSubstr("streamed: ")));
  EXPECT_THAT(large, Contains(HasSubstr("winograd: Winograd's algorithm is for convolutions")));
  EXPECT_THAT(large, Contains(HasSubstr("pairs: ")));
  EXPECT_THAT(Answers(Product(1), Facts()), Contains("streamed"));
}

TEST(SchedulesOfACpu, WeightsAreInPanels) {
  Facts facts;
  facts.rhs_is_weights = true;
  EXPECT_THAT(Answers(Product(256), facts).back(), HasSubstr("own, columns = "));
  EXPECT_THAT(Answers(Product(256), facts), Not(Contains(HasSubstr("variant"))));
  facts.alternatives = true;
  EXPECT_THAT(Answers(Product(256), facts), Contains(HasSubstr("own, variant = ")));
}

}  // namespace
}  // namespace tektite::target
