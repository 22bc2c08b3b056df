// Keys that no row of a block sees are not even read, unless a value among them is not finite or a
// row attends to them after all: the interpreter reports reads beyond the keys that are there.
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/gpu/emit/emitter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/ir/graph.h"
#include "tests/gpu/interpreting.h"

namespace tektite::testing {
namespace {

using ir::BFloat16;
using ::testing::HasSubstr;

constexpr int64_t kRows = 40, kKeys = 400, kWidth = 16;
// Behind the last key that a row sees lies a step that is fetched ahead.
constexpr int64_t kSeenKeys = 192;

// softmax(select(key <= row, query x key + bias, MASKED)) x value.
constexpr char kAttention[] = R"(
graph @f(%q: bf16[1,40,16], %k: bf16[1,400,16], %v: bf16[1,400,16], %b: bf16[1,40,400]) -> (bf16[1,40,16]) {
  %4: bf16[1,40,16] = fusion(%q, %k, %v, %b) {kind = attention}
    graph @fused(%q: bf16[1,40,16], %k: bf16[1,400,16], %v: bf16[1,400,16], %b: bf16[1,40,400]) -> (bf16[1,40,16]) {
      %0: bf16[1,40,400] = dot_general(%q, %k) {lhs_batch = [0], lhs_contracting = [2], rhs_batch = [0], rhs_contracting = [2]}
      %1: bf16[1,40,400] = add(%0, %b)
      %2: s32[1,40,400] = iota() {dimension = 1, dtype = s32, shape = (1, 40, 400)}
      %3: s32[1,40,400] = iota() {dimension = 2, dtype = s32, shape = (1, 40, 400)}
      %4: bool[1,40,400] = compare(%2, %3) {direction = "ge"}
      %5: bf16[] = constant() {value = bf16[]{MASKED}}
      %6: bf16[1,40,400] = broadcast_in_dim(%5) {dimensions = [], shape = (1, 40, 400)}
      %7: bf16[1,40,400] = LOGITS
      %8: f32[1,40,400] = convert(%7) {dtype = f32}
      %9: f32[1,40] = reduce(%8) {dimensions = [2], reducer = "max"}
      %10: f32[1,40,400] = broadcast_in_dim(%9) {dimensions = [0, 1], shape = (1, 40, 400)}
      %11: f32[1,40,400] = sub(%8, %10)
      %12: f32[1,40,400] = exp(%11)
      %13: f32[1,40] = reduce(%12) {dimensions = [2], reducer = "add"}
      %14: f32[1,40,400] = broadcast_in_dim(%13) {dimensions = [0, 1], shape = (1, 40, 400)}
      %15: f32[1,40,400] = div(%12, %14)
      %16: bf16[1,40,400] = convert(%15) {dtype = bf16}
      %17: bf16[1,40,16] = dot_general(%16, %v) {lhs_batch = [0], lhs_contracting = [2], rhs_batch = [0], rhs_contracting = [1]}
      return %17
    }
  return %4
}
)";

struct Inputs {
  std::vector<BFloat16> q, k, v, bias;
};

Inputs Plain() {
  const auto some = [](int64_t count) {
    std::vector<BFloat16> values;
    for (int64_t i = 0; i < count; ++i) {
      values.emplace_back(static_cast<float>((i * 7) % 13 - 6) / 8);
    }
    return values;
  };
  return {some(kRows * kWidth), some(kKeys * kWidth), some(kKeys * kWidth),
          std::vector<BFloat16>(static_cast<size_t>(kRows * kKeys))};
}

// With the first `keys` keys alone.
absl::Status Attend(const Inputs& inputs, int64_t keys, const std::string& masked = "-30000",
                    const std::string& logits = "select(%4, %1, %6)") {
  const std::string text =
      absl::StrReplaceAll(kAttention, {{"MASKED", masked}, {"LOGITS", logits}});
  auto graph = ir::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  auto emitted = gpu::EmitKernel(*(*graph)->outputs()[0].node, "attention");
  EXPECT_TRUE(emitted.ok()) << emitted.status();
  std::vector<std::unique_ptr<loop::Kernel>> launches;
  launches.push_back(std::move(emitted->kernel));
  for (auto& next : emitted->then) launches.push_back(std::move(next));
  auto made = gpu::InterpretedKernel::Create(std::move(launches), &SharedLaneFunctions());
  if (!made.ok()) return made.status();
  std::vector<BFloat16> some(inputs.k.begin(), inputs.k.begin() + keys * kWidth);
  Aligned<BFloat16> q(inputs.q), k(some), v(inputs.v), bias(inputs.bias),
      result(std::vector<BFloat16>(static_cast<size_t>(kRows * kWidth)));
  return (*made)->Run({q.buffer(), k.buffer(), v.buffer(), bias.buffer(), result.buffer()}, {});
}

TEST(CausalSkip, LaterKeysAreNotRead) {
  EXPECT_TRUE(Attend(Plain(), kKeys).ok());
  const absl::Status status = Attend(Plain(), kSeenKeys);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(Attend(Plain(), kSeenKeys, "-inf").ok());
}

TEST(CausalSkip, UnlessAValueIsNotFinite) {
  for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    for (const int64_t key : {kSeenKeys, kKeys - 1}) {
      Inputs inputs = Plain();
      inputs.v[static_cast<size_t>(key * kWidth + 3)] = BFloat16(value);
      EXPECT_THAT(Attend(inputs, kSeenKeys).message(), HasSubstr("out of bounds"));
    }
  }
}

// Its own keys are masked, too.
TEST(CausalSkip, UnlessARowAttendsToThem) {
  Inputs inputs = Plain();
  for (int64_t key = 0; key < kKeys; ++key) {
    inputs.bias[static_cast<size_t>(7 * kKeys + key)] = BFloat16(-30000.0F);
  }
  EXPECT_THAT(Attend(inputs, kSeenKeys).message(), HasSubstr("out of bounds"));
}

// A mask that is added leaves the score in the logit, and one of small numbers hides nothing.
TEST(CausalSkip, UnlessTheMaskIsAnother) {
  EXPECT_THAT(Attend(Plain(), kSeenKeys, "-5").message(), HasSubstr("out of bounds"));
  EXPECT_THAT(Attend(Plain(), kSeenKeys, "-30000", "add(%1, %6)").message(),
              HasSubstr("out of bounds"));
}

}  // namespace
}  // namespace tektite::testing
