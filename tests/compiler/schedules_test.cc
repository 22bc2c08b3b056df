// What is decided about kernels: the text of a schedule, and a CPU's list with its reasons.
#include "jit/target/schedules.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/cpu_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/ir/graph.h"
#include "jit/passes/pipeline.h"

namespace tektite::target {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Schedule, IsReadAsItIsPrinted) {
  Schedule schedule;
  EXPECT_EQ(schedule.Print(), "own");
  schedule.implementation = "onednn";
  schedule.rhs = {48, 24, 12, 2, 6, true};
  schedule.tile = {2, 12};
  schedule.blocks = {128, 4, 96, 7, 16, 98, 3, 5};
  schedule.stands_alone = schedule.features_first = true;
  schedule.copies_rhs = schedule.lhs_in_place = true;
  const std::string text = schedule.Print();
  EXPECT_EQ(text,
            "onednn, tile = 2x12, columns = 48, fours = 12, halves = 2, nibbles = 6, "
            "pairs = 24, channels = 128, panels = 4, piece = 96, pixels = 7, row_vectors = 16, "
            "squares = 98, "
            "steps = 3, "
            "taps = 5, later, alone, copies_rhs, features_first, lhs_in_place");
  const auto read = Schedule::Parse(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->Print(), text);
}

TEST(Schedule, NonsenseIsNoSchedule) {
  for (const char* text :
       {"", ", alone", "own, alone,", "own, columns = -3", "own, columns = many",
        "own, columns = 0", "own, rows = 3", "own, tile = 3", "own, tile = 0x8", "own, taps = "}) {
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
std::vector<std::string> Answers(const std::string& text, const Facts& facts,
                                 const std::string& cpu = "native") {
  Flags flags;
  flags.cpu = cpu;
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
  EXPECT_THAT(large.back(), HasSubstr("own, tile = "));
  EXPECT_THAT(large, Contains(HasSubstr("streamed: ")));
  EXPECT_THAT(large, Contains(HasSubstr("winograd: Winograd's algorithm is for convolutions")));
  EXPECT_THAT(large, Contains(HasSubstr("pairs: ")));
  EXPECT_THAT(Answers(Product(1), Facts()).back(), HasSubstr("streamed, tile = "));
}

TEST(SchedulesOfACpu, WeightsAreInPanels) {
  Facts facts;
  facts.rhs_is_weights = true;
  EXPECT_THAT(Answers(Product(256), facts).back(),
              AllOf(HasSubstr("own, tile = "), HasSubstr(", columns = ")));
}

// With AVX2 alone bytes are pairs of s16.
TEST(SchedulesOfACpu, BytesArePairsWithAvx2) {
  const auto product = [](int rows) {
    return absl::StrCat(
        "graph @f(%x: u8[", rows, ",64], %w: s8[64,48]) -> (s32[", rows, ",48]) {\n  %2: s32[",
        rows,
        ",48] = dot_general(%x, %w) {dtype = s32, lhs_contracting = [1], rhs_contracting = [0]}\n"
        "  return %2\n}\n");
  };
  Facts facts;
  EXPECT_THAT(Answers(product(256), facts, "avx2"), Contains(HasSubstr("or no weights")));
  facts.rhs_is_weights = true;
  EXPECT_EQ(Answers(product(256), facts, "avx2").back(),
            "pairs, tile = 2x24, columns = 16, pairs = 32");
  EXPECT_THAT(Answers(product(2), facts, "avx2").back(), HasSubstr("streamed, tile = "));
}

// Only where the product promises that numbers of a column lie within 16.
TEST(SchedulesOfACpu, WeightsOfFourBitsAreTwoToAByte) {
  const auto product = [](int rows, const char* promise) {
    return absl::Substitute(R"(graph @f(%x: f32[$0,3,64], %w: s8[3,64,48]) -> (f32[3,$0,48]) {
  %2: f32[3,$0,48] = dot_general(%x, %w) {dtype = f32, lhs_batch = [1], lhs_contracting = [2], $1rhs_batch = [0], rhs_contracting = [1]}
  return %2
}
)",
                            rows, promise);
  };
  const char* const promise = "nibbles = true, ";
  EXPECT_THAT(Answers(product(1, promise), Facts(), "avx2").back(),
              AllOf(HasSubstr("streamed, tile = "), HasSubstr("nibbles = 64")));
  EXPECT_THAT(Answers(product(1, ""), Facts(), "avx2").back(), Not(HasSubstr("nibbles")));
  EXPECT_THAT(Answers(product(256, promise), Facts(), "avx2").back(), Not(HasSubstr("nibbles")));
}

// Volumes of 16 channels and more are the class in which oneDNN is faster.
TEST(SchedulesOfACpu, VolumesGoToOneDnn) {
  Facts facts;
  facts.rhs_is_weights = true;
  const auto of_kernel = [&](const std::string& sizes) {
    return Answers(
        absl::StrCat("graph @f(%x: f32[1,8,8,8,16], %w: f32[", sizes,
                     ",16,16]) -> (f32[1,8,8,8,16]) {\n  %2: f32[1,8,8,8,16] = "
                     "convolution(%x, %w) {high = [",
                     sizes[0] == '3' ? "1" : "0",
                     ", 1, 1], input_layout = \"b012f\", kernel_layout = \"012io\", low = "
                     "[",
                     sizes[0] == '3' ? "1" : "0",
                     ", 1, 1], output_layout = \"b012f\", strides = [1, 1, 1]}\n  return "
                     "%2\n}\n"),
        facts);
  };
  EXPECT_THAT(of_kernel("1,3,3").back(), HasSubstr("own, tile = "));
  EXPECT_THAT(of_kernel("3,3,3"),
              Contains(AnyOf(HasSubstr("onednn, columns = "), HasSubstr("built without oneDNN"),
                             HasSubstr("AVX-512 alone"))));
}

// Passes and code: the tile is chosen for the schedule, and blocks for the tile by the emitter.
// Each contraction was planned some ten times when emitters, passes and the tuner each did it anew.
TEST(SchedulesOfACpu, AContractionIsTiledOnce) {
  const std::string dot = " = dot_general(%x, %w) {lhs_contracting = [1], rhs_contracting = [0]}";
  const std::string convolution =
      " = convolution(%x, %w) {high = [1, 1], input_layout = \"b01f\", kernel_layout = \"01io\", "
      "low = [1, 1], output_layout = \"b01f\", strides = [1, 1]}";
  const auto program = [](const std::string& x, const std::string& w, const std::string& y,
                          const std::string& op) {
    return absl::StrCat("graph @f(%x: ", x, ", %w: ", w, " {weight = true}) -> (", y,
                        ") {\n  %0: ", y, op, "\n  %1: ", y, " = tanh(%0)\n  return %1\n}\n");
  };
  const std::string programs[] = {
      program("f32[256,64]", "f32[64,48]", "f32[256,48]", dot),
      program("f32[n,64]", "f32[64,48]", "f32[n,48]", dot),
      program("f32[1,2048]", "f32[2048,1024]", "f32[1,1024]", dot),
      program("bf16[256,64]", "bf16[64,48]", "bf16[256,48]", dot),
      program("f32[1,28,28,128]", "f32[3,3,128,128]", "f32[1,28,28,128]", convolution),
      program("f32[1,28,28,32]", "f32[3,3,32,32]", "f32[1,28,28,32]", convolution)};
  for (const std::string& text : programs) {
    Flags flags;
    auto backend = cpu::CreateCpuBackend(flags);
    auto graph = ir::Parse(text);
    ASSERT_TRUE(backend.ok() && graph.ok()) << graph.status() << text;
    passes::PassContext context(flags);
    context.target = (*backend)->target();
    context.schedules = [&](const ir::Node& fusion, const Facts& facts) {
      return (*backend)->Schedules(fusion, facts);
    };
    const int64_t tiles = cpu::TilingCounts::tiles, blocks = cpu::TilingCounts::blocks;
    ASSERT_TRUE(passes::RunPipeline(**graph, context).ok());
    for (const ir::Node* node : (*graph)->NodeList()) {
      if (node->op() != ir::Op::kFusion) continue;
      EXPECT_TRUE((*backend)->Compile(*node, {"k", ""}).ok()) << ir::Print(**graph);
    }
    EXPECT_EQ(cpu::TilingCounts::tiles - tiles, 1) << ir::Print(**graph);
    EXPECT_LE(cpu::TilingCounts::blocks - blocks, 1) << ir::Print(**graph);
  }
}

}  // namespace
}  // namespace tektite::target
