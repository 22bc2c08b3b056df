// Steps that run as one compute what they compute one after the other.
#include "jit/runtime/rounds.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"
#include "tests/runtime/fake_kernels.h"
#include "tests/runtime/test_pool.h"

namespace tektite::runtime {
namespace {

constexpr int64_t kElements = 60;
using Vector = std::vector<float>;
constexpr double kSmallNs = 2e3, kLargeNs = 1e5;

// y[i] = 1 + the sum over operands o of (o + 1) / 8 * (x_o[i] + x_o[i + 1] / 2), as far as there is
// an x_o[i + 1] and where `reads_next`.
struct Spec {
  int64_t chunks = 1;
  int operands = 1;
  bool reads_next = true;
  bool in_place = false;
};

float Element(const Spec& spec, const std::vector<const float*>& operands, int64_t i) {
  float sum = 1;
  for (size_t o = 0; o < operands.size(); ++o) {
    const float next = spec.reads_next && i + 1 < kElements ? operands[o][i + 1] / 2 : 0;
    sum += static_cast<float>(o + 1) / 8 * (operands[o][i] + next);
  }
  return sum;
}

ir::Value Add(FakeGraph& g, std::vector<ir::Value> operands, Spec spec, double cost_ns) {
  spec.operands = static_cast<int>(operands.size());
  const auto run = [spec](const backend::KernelFrame& frame, int64_t chunk) {
    std::vector<const float*> x;
    for (int o = 0; o < spec.operands; ++o) x.push_back(static_cast<float*>(frame.buffers[o]));
    auto* y = static_cast<float*>(frame.buffers[spec.operands]);
    const int64_t end = kElements * (chunk + 1) / spec.chunks;
    for (int64_t i = kElements * chunk / spec.chunks; i < end; ++i) y[i] = Element(spec, x, i);
  };
  return g.Fusion(
      std::move(operands), {kElements},
      std::make_shared<FakeKernel>(run, spec.chunks, cost_ns, spec.in_place && !spec.reads_next));
}

BufferPlan PlanOf(const StepGraph& steps, bool forms_rounds = true) {
  return PlanBuffers(steps, std::vector<bool>(steps.groups.size(), true), {}, forms_rounds);
}

TEST(Rounds, SmallStepsGatherSideBySide) {
  FakeGraph g;
  ir::Value x = g.Parameter({kElements});
  std::vector<ir::Value> ends;
  for (int i = 0; i < 3; ++i) {
    ends.push_back(Add(g, {Add(g, {x}, {}, kSmallNs)}, {}, kSmallNs));
  }
  ends.push_back(Add(g, {x}, {}, kLargeNs));
  const StepGraph steps = g.Steps(ends);
  const BufferPlan plan = PlanOf(steps);
  EXPECT_EQ(plan.steps, (std::vector<int>{0, 2, 4, 1, 3, 5, 6}));
  EXPECT_EQ(plan.rounds, (std::vector<int>{0, 0, 0, 1, 1, 1, 2}));
  EXPECT_EQ(RoundsText(plan.steps, plan.rounds),
            "steps 0, 2, 4 side by side\nsteps 1, 3, 5 side by side\n");
  EXPECT_EQ(PlanOf(steps, /*forms_rounds=*/false).rounds, (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Rounds, LargeResultsAreReadWhileTheyAreInCache) {
  FakeGraph g;
  constexpr int64_t kLarge = 32 << 10;  // 128 KiB
  ir::Value x = g.Parameter({kLarge});
  std::vector<ir::Value> ends;
  for (int i = 0; i < 2; ++i) {
    ends.push_back(g.Fusion({x}, {kLarge},
                            MapKernel(
                                1, kLarge, [](const float* v) { return *v; }, 1, kSmallNs)));
  }
  EXPECT_EQ(PlanOf(g.Steps(ends)).rounds, (std::vector<int>{0, 1}));
}

// A reader of the old value runs at the same time: nothing may be written over it.
TEST(Rounds, NothingIsOverwrittenThatTheRoundReads) {
  FakeGraph g;
  ir::Value x = g.Parameter({kElements});
  ir::Value a = Add(g, {x}, {}, kLargeNs);
  ir::Value b = Add(g, {a}, {}, kSmallNs);
  ir::Value c = Add(g, {a}, {1, 1, /*reads_next=*/false, /*in_place=*/true}, kSmallNs);
  ir::Value d = Add(g, {b, c}, {}, kLargeNs);
  const StepGraph steps = g.Steps({d});
  const BufferPlan plan = PlanOf(steps);
  ASSERT_EQ(plan.rounds, (std::vector<int>{0, 1, 1, 2}));
  const auto index = [&](int step) { return plan.locations[steps.steps[step].results[0]].index; };
  EXPECT_NE(index(2), index(0));
  // On its own, the last reader may.
  EXPECT_EQ(PlanOf(steps, /*forms_rounds=*/false).in_place, 1);
}

// Random graphs of small and large kernels, on no, two and three workers.
TEST(Rounds, RandomGraphsComputeWhatTheyShould) {
  std::mt19937 random(5);
  int64_t joined = 0;
  for (int trial = 0; trial < 300; ++trial) {
    FakeGraph g;
    Vector input(kElements);
    for (float& x : input) x = static_cast<float>(random() % 64);
    std::vector<ir::Value> values = {g.Parameter({kElements})};
    std::vector<Vector> expected = {input};
    for (int s = 0, n = 2 + static_cast<int>(random() % 20); s < n; ++s) {
      const Spec spec = {std::vector<int64_t>{1, 1, 2, 60}[random() % 4], 0, random() % 2 == 0,
                         random() % 2 == 0};
      std::vector<ir::Value> operands;
      std::vector<const float*> data;
      for (size_t o = 0, most = 1 + random() % 2; o < most; ++o) {
        const size_t i = values.size() - 1 - random() % std::min<size_t>(values.size(), 3);
        operands.push_back(values[i]);
        data.push_back(expected[i].data());
      }
      Vector result(kElements);
      for (int64_t i = 0; i < kElements; ++i) result[i] = Element(spec, data, i);
      values.push_back(Add(g, operands, spec, random() % 3 == 0 ? kLargeNs : kSmallNs));
      expected.push_back(std::move(result));
    }
    const size_t other = random() % values.size();
    const StepGraph steps = g.Steps({values.back(), values[other]});
    const BufferPlan plan = PlanOf(steps);
    joined += static_cast<int>(steps.steps.size()) - plan.rounds.back() - 1;
    auto executable = Executable::Create(steps, TestOptions());
    for (int threads : {0, 2, 3}) {
      Pool pool(threads);
      TestHost host(threads == 0 ? HostPool{} : pool.Host());
      host.may_forward = false;
      ASSERT_TRUE(executable->Run({{input.data(), 0}}, host).ok());
      for (int k = 0; k < 2; ++k) host.results[k].pop_back();
      ASSERT_EQ(host.results[0], expected.back()) << trial;
      ASSERT_EQ(host.results[1], expected[other]) << trial;
    }
  }
  EXPECT_GT(joined, 300);
}

}  // namespace
}  // namespace tektite::runtime
