// Attention by warpgroups on the device interpreter: every instruction that makes one role or one
// warp wait for another is needed, and the interpreter says so where it is missing.
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/gpu/codegen/emit_ptx.h"
#include "backends/gpu/emit/emitter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/llvm/instr.h"
#include "tests/gpu/attention_graph.h"
#include "tests/gpu/interpreting.h"

namespace tektite::testing {
namespace {

using ir::BFloat16;
using loop::Code;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using Launches = std::vector<std::unique_ptr<loop::Kernel>>;

// Rounds through the stages of shared memory, and an end that is ragged.
constexpr int64_t kRows = 70, kKeys = 700, kWidth = 64;
// Four steps of keys are seen, and the two others use both stages.
constexpr int64_t kOffset = 300;

Launches Emit(GraphMask mask) {
  AttentionGraph g;
  g.rows = kRows;
  g.keys = kKeys;
  g.mask = mask;
  g.offset = kOffset;
  gpu::EmitOptions options;
  options.warpgroups = gpu::Warpgroups::kAlways;
  options.shared_bytes = gpu::MostSharedBytes("sm_90a");
  auto emitted = gpu::EmitKernel(*MakeAttention(g)->outputs()[0].node, "attention", options);
  EXPECT_TRUE(emitted.ok()) << emitted.status();
  Launches launches;
  launches.push_back(std::move(emitted->kernel));
  for (auto& next : emitted->then) launches.push_back(std::move(next));
  EXPECT_EQ(launches.back()->tensor_maps.size(), 3);
  return launches;
}

// Where the last value is not finite, keys that no row sees are not left out.
std::string FaultOf(Launches launches, bool is_finite = true) {
  const auto some = [](int64_t count) {
    std::vector<BFloat16> values;
    for (int64_t i = 0; i < count; ++i) {
      values.emplace_back(static_cast<float>((i * 7) % 13 - 6) / 8);
    }
    return values;
  };
  auto made = gpu::InterpretedKernel::Create(std::move(launches), &SharedLaneFunctions());
  if (!made.ok()) return std::string(made.status().message());
  std::vector<BFloat16> values = some(kKeys * kWidth);
  if (!is_finite) values.back() = BFloat16(std::nanf(""));
  Aligned<BFloat16> q(some(kRows * kWidth)), k(some(kKeys * kWidth)), v(values),
      m(some(kRows * kKeys)), z(some(kRows * kWidth));
  return std::string(
      (*made)->Run({q.buffer(), k.buffer(), v.buffer(), m.buffer(), z.buffer()}, {}).message());
}

using Visit = std::function<void(loop::Block&, size_t)>;
void ForEachInstr(loop::Block& block, const Visit& visit) {
  for (size_t i = 0; i < block.instrs.size(); ++i) {
    loop::Instr* const instr = block.instrs[i];
    if (instr->body != nullptr) ForEachInstr(*instr->body, visit);
    if (instr->otherwise != nullptr) ForEachInstr(*instr->otherwise, visit);
    visit(block, i);
  }
}

// Makes the kernel's `number`th instruction of this code do nothing; false where there are fewer.
bool Spoil(loop::Kernel& kernel, Code code, int number) {
  loop::Block* in = nullptr;
  size_t at = 0;
  int seen = 0;
  ForEachInstr(kernel.body(), [&](loop::Block& block, size_t i) {
    if (block.instrs[i]->code != code || seen++ != number) return;
    in = &block;
    at = i;
  });
  if (in == nullptr) return false;
  if (code == Code::kWaitForProducts) {
    constexpr int64_t kAny = 100;
    in->instrs[at]->immediate = kAny;
  } else {
    in->instrs.erase(in->instrs.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return true;
}

TEST(WarpgroupAttention, RunsWithoutFaults) {
  for (GraphMask mask : {GraphMask::kNone, GraphMask::kOfPairs, GraphMask::kCausal}) {
    for (const bool is_finite : {true, false}) EXPECT_EQ(FaultOf(Emit(mask), is_finite), "");
  }
}

TEST(WarpgroupAttention, EveryWaitIsNeeded) {
  const auto race = AnyOf(HasSubstr("data race"), HasSubstr("uninitialized"));
  const std::map<Code, ::testing::Matcher<std::string>> reports = {
      {Code::kAcquireTensor, HasSubstr("has not acquired")},
      {Code::kArrive, HasSubstr("waits for ever")},
      {Code::kInitSignal, HasSubstr("no signal was made")},
      {Code::kWaitForProducts, AnyOf(HasSubstr("sums of a product that is under way"), race)},
      {Code::kWaitForSignal,
       AnyOf(race, HasSubstr("one more in phase"), HasSubstr("waits for ever"))},
      {Code::kWarpBarrier, race},
  };
  for (GraphMask mask : {GraphMask::kNone, GraphMask::kCausal}) {
    for (const auto& [code, report] : reports) {
      for (int number = 0;; ++number) {
        Launches launches = Emit(mask);
        if (!Spoil(*launches.back(), code, number)) {
          EXPECT_GT(number, 0) << loop::CodeName(code);
          break;
        }
        EXPECT_THAT(FaultOf(std::move(launches), /*is_finite=*/false), report)
            << loop::CodeName(code) << " " << number << ", mask " << static_cast<int>(mask);
      }
    }
  }
}

}  // namespace
}  // namespace tektite::testing
