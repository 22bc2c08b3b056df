// Property test: the simplifying passes keep what random graphs compute, and find nothing more to
// do when they run again.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
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

absl::StatusOr<std::vector<Literal>> Evaluate(const ir::Graph& graph,
                                              absl::Span<const Literal> arguments) {
  return reference::Evaluate(graph, arguments);
}

passes::PassContext MakeContext(const Flags& flags) {
  passes::PassContext context(flags);
  context.evaluate = &Evaluate;
  context.schedules = [](const ir::Node&, const target::Facts& facts) {
    target::Schedule schedule;
    schedule.rhs.columns = facts.rhs_is_weights ? 4 : 0;
    return std::vector<target::Offer>{{target::kOwn, schedule}};
  };
  context.recomputed_bytes = 1;
  return context;
}

class RandomGraphs : public testing::TestWithParam<Flavor> {
 protected:
  RandomGraphs() { flags_.verify = true; }

  // Runs `passes` (none: all) and compares what comes out with what came out before.
  void Check(uint32_t seed, const std::vector<std::string>& names, RandomGraph* random) {
    const std::string before = ir::Print(*random->graph);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", before));
    ASSERT_TRUE(ops::VerifyGraph(*random->graph).ok());
    auto expected = Evaluate(*random->graph, random->arguments);
    ASSERT_TRUE(expected.ok()) << expected.status();
    passes::PassContext context = MakeContext(flags_);
    absl::Status status = names.empty() ? passes::RunPipeline(*random->graph, context)
                                        : passes::RunPasses(*random->graph, names, context);
    ASSERT_TRUE(status.ok()) << status;
    auto actual = Evaluate(*random->graph, random->arguments);
    ASSERT_TRUE(actual.ok()) << actual.status() << "\n" << ir::Print(*random->graph);
    ASSERT_EQ(expected->size(), actual->size());
    for (size_t i = 0; i < expected->size(); ++i) {
      const Literal &a = (*expected)[i], &b = (*actual)[i];
      ASSERT_EQ(a.sizes(), b.sizes());
      for (int64_t k = 0; k < a.num_elements(); ++k) {
        ASSERT_TRUE(Agree(a.data<float>()[k], b.data<float>()[k], GetParam()))
            << "output " << i << "[" << k << "]: " << a.data<float>()[k] << " became "
            << b.data<float>()[k] << "\n"
            << ir::Print(*random->graph);
      }
    }
  }

  // The graph of that seed, or none if results may be far apart by rounding alone.
  std::optional<RandomGraph> Make(uint32_t seed, bool symbolic = false) const {
    RandomGraph random = MakeRandomGraph(seed, GetParam(), symbolic);
    if (GetParam() == Flavor::kRounded && HasSteps(*random.graph)) return std::nullopt;
    return random;
  }

  Flags flags_;
};

TEST_P(RandomGraphs, KeepTheirValuesWhenSimplified) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    std::optional<RandomGraph> random = Make(seed);
    if (!random) continue;
    Check(seed, {"simplify"}, &*random);
    if (HasFatalFailure()) return;
    const std::string after = ir::Print(*random->graph);
    passes::PassContext context = MakeContext(flags_);
    ASSERT_TRUE(passes::RunPasses(*random->graph, {"simplify"}, context).ok());
    for (const passes::PassContext::Timing& timing : context.timings) {
      ASSERT_FALSE(timing.changed) << timing.pass << " found more to do, seed " << seed << "\n"
                                   << after << ir::Print(*random->graph);
    }
  }
}

TEST_P(RandomGraphs, KeepTheirValuesWhenFused) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    std::optional<RandomGraph> random = Make(seed);
    if (!random) continue;
    if (seed % 2 == 0) random->graph->parameter(0)->attrs().Set(ir::Attr::weight, true);
    Check(seed, {}, &*random);
    if (HasFatalFailure()) return;
  }
}

// The passes run once, for all sizes; what they made is evaluated for some.
TEST_P(RandomGraphs, KeepTheirValuesWhenSizesAreSymbols) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    std::optional<RandomGraph> random = Make(seed, /*symbolic=*/true);
    if (!random) continue;
    Check(seed, seed % 2 == 0 ? std::vector<std::string>{"simplify"} : std::vector<std::string>{},
          &*random);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RandomGraphs,
                         testing::Values(Flavor::kExact, Flavor::kIntegral, Flavor::kRounded));

}  // namespace
}  // namespace tektite
