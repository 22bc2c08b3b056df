// Property test: the simplifying passes keep what random graphs compute, and find nothing more to
// do when they run again.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "jit/ops/ops.h"
#include "jit/passes/pipeline.h"
#include "jit/reference/interpreter.h"
#include "tests/passes/random_graph.h"

namespace tektite {
namespace {

using ir::Literal;

bool Agree(float a, float b, Flavor flavor) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  switch (flavor) {
    case Flavor::kExact:
      return std::memcmp(&a, &b, sizeof(a)) == 0;
    case Flavor::kIntegral:
      return a == b;
    case Flavor::kRounded:
      return a == b || std::fabs(a - b) <= 2e-5f * std::max(1.0f, std::fabs(a));
  }
  return false;
}

// Rounding before a floor or a comparison decides between values far apart, so this flavor is only
// compared where neither occurs.
bool HasSteps(const ir::Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->op() == ir::Op::kFloor || node->op() == ir::Op::kCompare) return true;
  }
  return false;
}

class RandomGraphs : public testing::TestWithParam<Flavor> {};

TEST_P(RandomGraphs, KeepTheirValues) {
  const Flavor flavor = GetParam();
  Flags flags;
  flags.verify = true;
  int compared = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    RandomGraph random = MakeRandomGraph(seed, flavor);
    ASSERT_TRUE(ops::VerifyGraph(*random.graph).ok()) << ir::Print(*random.graph);
    if (flavor == Flavor::kRounded && HasSteps(*random.graph)) continue;
    const std::string before = ir::Print(*random.graph);
    auto expected = reference::Evaluate(*random.graph, random.arguments);
    ASSERT_TRUE(expected.ok()) << expected.status() << "\n" << before;

    passes::PassContext context(flags);
    context.evaluate = [](const ir::Graph& g, absl::Span<const Literal> arguments) {
      return reference::Evaluate(g, arguments);
    };
    absl::Status status = passes::RunPasses(*random.graph, {"simplify"}, context);
    ASSERT_TRUE(status.ok()) << status << "\n" << before;
    const std::string after = ir::Print(*random.graph);
    auto actual = reference::Evaluate(*random.graph, random.arguments);
    ASSERT_TRUE(actual.ok()) << actual.status() << "\n" << after;
    for (size_t i = 0; i < expected->size(); ++i) {
      const Literal &a = (*expected)[i], &b = (*actual)[i];
      ASSERT_EQ(a.sizes(), b.sizes());
      for (int64_t k = 0; k < a.num_elements(); ++k) {
        ASSERT_TRUE(Agree(a.data<float>()[k], b.data<float>()[k], flavor))
            << "seed " << seed << ", output " << i << "[" << k << "]: " << a.data<float>()[k]
            << " became " << b.data<float>()[k] << "\n"
            << before << after;
      }
    }
    ++compared;

    context.timings.clear();
    ASSERT_TRUE(passes::RunPasses(*random.graph, {"simplify"}, context).ok());
    for (const passes::PassContext::Timing& timing : context.timings) {
      EXPECT_FALSE(timing.changed) << timing.pass << " found more to do, seed " << seed << "\n"
                                   << after << ir::Print(*random.graph);
    }
  }
  EXPECT_GT(compared, 50);
}

INSTANTIATE_TEST_SUITE_P(All, RandomGraphs,
                         testing::Values(Flavor::kExact, Flavor::kIntegral, Flavor::kRounded));

}  // namespace
}  // namespace tektite
