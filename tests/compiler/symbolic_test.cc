// Code for all sizes computes what the interpreter computes for each.
#include <cmath>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "jit/compiler/compiler.h"
#include "jit/compiler/specialize.h"
#include "jit/reference/interpreter.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/passes/random_graph.h"

namespace tektite::compiler {
namespace {

using ir::Dim;
using ir::Literal;

class Host : public runtime::CallHost {
 public:
  runtime::HostPool Pool() override { return {}; }
  void* Allocate(int result, const runtime::TensorType& type) override {
    return results.insert_or_assign(result, Literal::Allocate(type.dtype, type.dims))
        .first->second.mutable_data<float>();
  }
  std::map<int, Literal> results;
};

bool Agree(float a, float b, Flavor flavor) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (flavor == Flavor::kExact) return std::memcmp(&a, &b, sizeof(a)) == 0;
  if (flavor == Flavor::kIntegral) return a == b;
  return a == b || std::fabs(a - b) <= 2e-5f * std::max(1.0f, std::fabs(b));
}

// Rounding before a floor or a comparison decides between values far apart.
bool HasSteps(const ir::Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->op() == ir::Op::kFloor || node->op() == ir::Op::kCompare) return true;
  }
  return false;
}

// The interpreter takes its time.
bool IsLarge(const ir::Graph& graph, const ir::SymbolMap& sizes) {
  for (const auto& node : graph.nodes()) {
    if (node->shape().Substitute(sizes).num_elements() > 50000) return true;
  }
  return false;
}

struct Target {
  const char* backend;
  Flavor flavor;
};

class SymbolicCode : public testing::TestWithParam<Target> {
 protected:
  // True when the code serves those sizes.
  bool Check(const ir::Graph& graph, runtime::Executable& executable, const ir::SymbolMap& sizes,
             uint32_t seed) {
    const Flavor flavor = GetParam().flavor;
    const std::vector<Literal> arguments = MakeArguments(graph, sizes, seed, flavor);
    auto expected = reference::Evaluate(graph, arguments);
    Host host;
    std::vector<runtime::Argument> raw;
    for (const Literal& a : arguments) raw.push_back({a.raw(), 0, a.sizes().data()});
    const absl::Status ran = executable.Run(raw, host);
    // A slice that lies outside of what it is taken from for these sizes.
    if (absl::IsOutOfRange(ran)) return false;
    EXPECT_TRUE(ran.ok()) << ran;
    EXPECT_TRUE(expected.ok()) << expected.status();
    if (!ran.ok() || !expected.ok()) return true;
    for (size_t k = 0; k < expected->size(); ++k) {
      const Literal &want = (*expected)[k], &got = host.results.at(static_cast<int>(k));
      EXPECT_EQ(got.sizes(), want.sizes());
      if (got.sizes() != want.sizes()) return true;
      for (int64_t i = 0; i < want.num_elements(); ++i) {
        const float a = got.data<float>()[i], b = want.data<float>()[i];
        EXPECT_TRUE(Agree(a, b, flavor))
            << "output " << k << "[" << i << "] is " << a << ", not " << b;
        if (HasFailure()) return true;
      }
    }
    return true;
  }
};

TEST_P(SymbolicCode, RandomGraphsForSomeSizes) {
  CompilerOptions options;
  options.backends = tektite::c_api::AllBackends();
  options.backend = GetParam().backend;
  options.flags.verify = true;
  auto compiler = Compiler::Create(options);
  ASSERT_TRUE(compiler.ok()) << compiler.status();
  int compiled = 0, refused = 0, served = 0;
  constexpr uint32_t kGraphs = 150;
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    RandomGraph random = MakeRandomGraph(seed, GetParam().flavor, /*symbolic=*/true);
    if (GetParam().flavor == Flavor::kRounded && HasSteps(*random.graph)) continue;
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", ir::Print(*random.graph)));
    CompileJob job;
    job.cluster = "random";
    auto executable = (*compiler)->Compile(random.graph->Clone(), job);
    if (absl::IsUnimplemented(executable.status())) {
      ++refused;
      continue;
    }
    ASSERT_TRUE(executable.ok()) << executable.status();
    ++compiled;
    EXPECT_TRUE(Check(*random.graph, **executable, random.symbols, seed));
    for (int64_t shift : {1, 5, 17}) {
      ir::SymbolMap sizes = random.symbols;
      for (auto& [name, size] : sizes) size = size + shift * (name == "b" ? 2 : 1);
      if (!IsLarge(*random.graph, sizes)) served += Check(*random.graph, **executable, sizes, seed);
      if (HasFailure()) return;
    }
  }
  std::printf("%s: %d graphs compiled, %d refused, %d other sizes served\n", GetParam().backend,
              compiled, refused, served);
  EXPECT_GE(served, compiled);
}

TEST(UnifySymbols, GuardsOfTheCallAtHandMakeOneSymbolOfTwo) {
  const Dim n = Dim::Symbol("n"), m = Dim::Symbol("m"), k = Dim::Symbol("k");
  ir::Graph graph;
  graph.AddParameter(ir::Shape(ir::DType::kF32, {n, m, k}));
  graph.AddParameter(ir::Shape(ir::DType::kF32, {Min(m, 64), n + 1}));
  graph.guards() = {{n, k}, {Min(m, 64), m}, {m, Dim(3)}};
  std::map<std::string, int64_t> sizes = {{"n", 5}, {"m", 7}, {"k", 5}};
  UnifySymbols(graph, &sizes);
  const ir::Shape first = graph.parameter(0)->shape(), second = graph.parameter(1)->shape();
  EXPECT_EQ(first.dim(0), first.dim(2));
  EXPECT_EQ(second.dim(1), first.dim(0) + 1);
  EXPECT_EQ(sizes.size(), 2);
  // A size that a table's size bounds is that size where the bound holds, which is still checked.
  EXPECT_EQ(second.dim(0), m);
  ASSERT_EQ(graph.guards().size(), 2);
  EXPECT_EQ(graph.guards()[0].rhs, Dim(3));  // not so in this call
  EXPECT_EQ(graph.guards()[1].lhs, Min(m, 64));
}

INSTANTIATE_TEST_SUITE_P(All, SymbolicCode,
                         testing::Values(Target{"reference", Flavor::kExact},
                                         Target{"reference", Flavor::kIntegral},
                                         Target{"cpu", Flavor::kExact},
                                         Target{"cpu", Flavor::kIntegral},
                                         Target{"cpu", Flavor::kRounded}));

}  // namespace
}  // namespace tektite::compiler
