// Which attention is made by warpgroups, and its machine code.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/gpu/codegen/assembler.h"
#include "backends/gpu/codegen/device_code.h"
#include "backends/gpu/codegen/emit_ptx.h"
#include "backends/gpu/emit/attention/warpgroup_attention.h"
#include "backends/gpu/emit/contraction/warpgroup_contraction.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/gpu/attention_graph.h"
#include "tests/long_tests.h"

namespace tektite::gpu {
namespace {

using ::testing::AllOf;
using testing::AttentionGraph;
using ::testing::ElementsAre;
using testing::GraphMask;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kArchitecture[] = "sm_90a";

EmitOptions Options(Warpgroups warpgroups = Warpgroups::kWhereLarge) {
  EmitOptions options;
  options.shared_bytes = MostSharedBytes(kArchitecture);
  options.warpgroups = warpgroups;
  return options;
}

std::unique_ptr<loop::Kernel> Emit(const AttentionGraph& g, const std::string& way,
                                   const EmitOptions& options = Options()) {
  const auto graph = testing::MakeAttention(g);
  ir::Node* const fusion = graph->outputs()[0].node;
  if (!way.empty()) fusion->attrs().Set(ir::Attr::schedule, way);
  auto emitted = EmitKernel(*fusion, "attention", options);
  EXPECT_TRUE(emitted.ok()) << emitted.status();
  return std::move(emitted->then.empty() ? emitted->kernel : emitted->then[0]);
}

// Keys of a step; 0: not by warpgroups.
int64_t Keys(const AttentionGraph& g, const EmitOptions& options = Options()) {
  const auto kernel = Emit(g, "", options);
  return kernel->tensor_maps.empty() ? 0 : kernel->tensor_maps[1].box[1];
}

TEST(WarpgroupAttentionRule, IsForWhatFillsTheCard) {
  EXPECT_EQ(Keys({8, 16, 512, 512}), 128);
  EXPECT_EQ(Keys({8, 16, 512, 512, 128, 128}), 128);
  EXPECT_EQ(Keys({8, 16, 512, 512, 128, 64, "f16"}), 128);
  EXPECT_EQ(Keys({1, 16, 512, 512}), 0);          // 64 blocks
  EXPECT_EQ(Keys({64, 16, 64, 512}), 0);          // few rows
  EXPECT_EQ(Keys({8, 16, 512, 64}), 0);           // few keys
  EXPECT_EQ(Keys({8, 16, 512, 512, 96, 96}), 0);  // heads of another width
  EXPECT_EQ(Keys({8, 16, 512, 512, 256, 64}), 0);
  EXPECT_EQ(Keys({8, 16, 512, 512}, Options(Warpgroups::kNever)), 0);
  EXPECT_EQ(Keys({1, 1, 9, 50}, Options(Warpgroups::kAlways)), 64);
  EmitOptions small = Options();
  small.shared_bytes = 99 << 10;
  EXPECT_EQ(Keys({8, 16, 512, 512, 128, 128}, small), 0);
}

TEST(WarpgroupAttentionRule, OthersCanBeMeasured) {
  const auto ways = [](const AttentionGraph& g) {
    return OtherAttentionWays(*testing::MakeAttention(g)->outputs()[0].node, Options());
  };
  EXPECT_THAT(ways({8, 16, 512, 512}), ElementsAre(kWarpMatrices));
  EXPECT_THAT(ways({1, 16, 512, 512}), ElementsAre(kWarpgroupAttention));
  EXPECT_THAT(ways({64, 16, 32, 512}), IsEmpty());
  EXPECT_THAT(ways({8, 16, 512, 512, 96, 96}), IsEmpty());
  EXPECT_EQ(Emit({8, 16, 512, 512}, kWarpMatrices)->tensor_maps.size(), 0);
  EXPECT_EQ(Emit({1, 16, 512, 512}, kWarpgroupAttention)->tensor_maps.size(), 3);
}

TEST(WarpgroupAttentionCode, MultipliesFromRegisters) {
  const auto ptx = EmitPtx(*Emit({8, 16, 512, 512, 64, 128}, ""), kArchitecture);
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  // Scores begin without zeros; weights come from four registers; the wait for the context depends
  // on the softmax.
  EXPECT_THAT(*ptx, AllOf(HasSubstr("setp.ne.b32 adds, 0, 0"),
                          HasSubstr("@rests nanosleep.u32 0; wgmma.wait_group.sync.aligned 0;"),
                          HasSubstr("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"),
                          ::testing::ContainsRegex("\\}, \\{%r[0-9]+, %r[0-9]+, %r[0-9]+, "
                                                   "%r[0-9]+\\}, b, adds, 1, 1, 1; ")));
}

// Heads, types and kinds of masks, every combination with --long: no spills, no stack, no product
// that waits for another.
TEST(WarpgroupAttentionCode, AssemblesWithoutSpillsOrWarnings) {
  const Assembler* const assembler = Assembler::OfThisMachine();
  ASSERT_NE(assembler, nullptr);
  constexpr int kSample = 5;  // no factor of the lists' lengths
  int number = 0;
  for (const int64_t width : {64, 128}) {
    for (const int64_t columns : {64, 128}) {
      for (const GraphMask mask :
           {GraphMask::kNone, GraphMask::kOfKeys, GraphMask::kOfPairs, GraphMask::kCausal}) {
        for (const int64_t keys : {1024, 1000, 1001}) {
          if (!TestsAreLong() && number++ % kSample != 0) continue;
          const std::string dtype = (width == columns) == (keys == 1024) ? "bf16" : "f16";
          const std::string name = absl::StrCat(width, " -> ", columns, ", mask ",
                                                static_cast<int>(mask), ", ", keys, " keys");
          const auto kernel = Emit({8, 16, 512, keys, width, columns, dtype, mask}, "");
          const auto code = CompileForDevice(*kernel, kArchitecture, assembler);
          ASSERT_TRUE(code.ok()) << code.status();
          const Resources& r = code->cubin.resources;
          EXPECT_EQ(r.spilled_bytes(), 0) << name;
          EXPECT_EQ(r.stack_bytes, 0) << name;
          EXPECT_EQ(r.warning, "") << name;
          EXPECT_LE(r.registers, 65536 / kernel->launch.threads) << name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tektite::gpu
