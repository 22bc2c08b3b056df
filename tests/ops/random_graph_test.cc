// Properties that hold for every graph, on random ones.
#include "tests/ops/random_graph.h"

#include <set>

#include "gtest/gtest.h"
#include "jit/ops/ops.h"
#include "jit/reference/interpreter.h"

namespace tektite::testing {
namespace {

using ir::DType;

const std::vector<DType> kAllTypes = {
    DType::kBool, DType::kS8,  DType::kS16, DType::kS32,  DType::kS64, DType::kU8, DType::kU16,
    DType::kU32,  DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

class RandomGraphs : public ::testing::TestWithParam<bool> {};

TEST_P(RandomGraphs, VerifyPrintParseAndEvaluate) {
  RandomGraphOptions options;
  if (GetParam()) options.dtypes = kAllTypes;
  std::set<ir::Op> seen;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    auto graph = RandomGraph(seed, options);
    ASSERT_TRUE(ops::VerifyGraph(*graph).ok()) << ops::VerifyGraph(*graph);
    const std::string text = ir::Print(*graph);
    auto parsed = ir::Parse(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
    ASSERT_EQ(ir::Print(**parsed), text);
    ASSERT_EQ(ir::Print(*RandomGraph(seed, options)), text);  // the same on every call
    auto inputs = RandomInputs(*graph, seed);
    auto results = reference::Evaluate(*graph, inputs);
    ASSERT_TRUE(results.ok()) << results.status() << "\n" << text;
    auto again = reference::Evaluate(**parsed, inputs);
    ASSERT_TRUE(again.ok());
    for (size_t i = 0; i < results->size(); ++i) {
      ASSERT_TRUE((*results)[i] == (*again)[i]);
      ASSERT_EQ((*results)[i].shape(), graph->outputs()[i].shape());
    }
    for (const auto& node : graph->nodes()) seen.insert(node->op());
  }
  EXPECT_GT(seen.size(), 30u);  // the generator reaches most of what it can
}

INSTANTIATE_TEST_SUITE_P(Types, RandomGraphs, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "All" : "F32"; });

}  // namespace
}  // namespace tektite::testing
