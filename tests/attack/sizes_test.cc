// Sizes near 2^31, 2^32 and 2^62 in code for all sizes: a call is planned with numbers that 128-bit
// arithmetic confirms, or refused; nothing wraps, and nothing is run that memory would be needed
// for.
//
// Guards against: sizes of inner buffers that wrapped in the size program, so that a call of 2^62
// elements got an arena of a few bytes and wrote behind its end.
#include <optional>
#include <random>
#include <set>

#include "gtest/gtest.h"
#include "jit/base/memory_limit.h"
#include "jit/compiler/compiler.h"
#include "jit/ir/dim_expr.h"
#include "jit/runtime/executable.h"
#include "jit/runtime/sized_calls.h"
#include "runtime_hooks/c_api/backend_list.h"
#include "tests/passes/random_graph.h"

namespace tektite::compiler {
namespace {

using ir::Dim;
using Wide = __int128;

constexpr int64_t kSizes[] = {0,
                              1,
                              2,
                              3,
                              7,
                              64,
                              (int64_t{1} << 31) - 1,
                              int64_t{1} << 31,
                              (int64_t{1} << 31) + 1,
                              (int64_t{1} << 32) - 1,
                              int64_t{1} << 32,
                              (int64_t{1} << 32) + 1,
                              int64_t{1} << 33,
                              int64_t{1} << 61,
                              int64_t{1} << 62,
                              (int64_t{1} << 62) + 1,
                              INT64_MAX - 1,
                              INT64_MAX};

// The value of a dimension in 128 bits; nothing where even these do not hold it.
class WideEvaluator {
 public:
  explicit WideEvaluator(std::map<std::string, int64_t> symbols) : symbols_(std::move(symbols)) {}

  std::optional<Wide> Of(const Dim& d) const {
    const ir::DimExpr* expr = ir::DimExpr::Of(d);
    if (expr == nullptr) return d.value();
    Wide sum = expr->constant;
    for (const ir::DimTerm& term : expr->terms) {
      Wide product = term.coefficient;
      for (const auto& atom : term.atoms) {
        const std::optional<Wide> value = Of(*atom);
        if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
      }
      if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
    }
    return sum;
  }

 private:
  std::optional<Wide> Of(const ir::DimAtom& atom) const {
    if (atom.function == 0) return symbols_.at(atom.text);
    const std::optional<Wide> a = Of(atom.a), b = Of(atom.b);
    if (!a || !b) return std::nullopt;
    switch (atom.function) {
      case '>':
        return std::max(*a, *b);
      case '<':
        return std::min(*a, *b);
      default:
        break;
    }
    if (*b == 0) return Wide{0};
    Wide rest = *a % *b;
    if (rest != 0 && (rest < 0) != (*b < 0)) rest += *b;
    return atom.function == '%' ? rest : (*a - rest) / *b;
  }

  const std::map<std::string, int64_t> symbols_;
};

// Counts of the attack's answers: a test that only ever meets refusals would show nothing.
struct Seen {
  int planned = 0, refused = 0, out_of_range = 0;
};

void CheckPlan(const runtime::StepGraph& graph, const runtime::SizedCalls& plan,
               const runtime::SizedCall& sized, const WideEvaluator& exact, const Wide& elements,
               Seen* seen) {
  const runtime::BufferAssignment& buffers = plan.buffers();
  if (absl::IsOutOfRange(sized.status)) {
    ++seen->out_of_range;
    return;
  }
  if (!sized.status.ok()) {
    ASSERT_TRUE(absl::IsResourceExhausted(sized.status)) << sized.status;
    // Only what is large is refused.
    EXPECT_GT(elements, Wide{1} << 24) << sized.status;
    ++seen->refused;
    return;
  }
  ++seen->planned;
  Wide largest = 0, all = 0;
  for (const int b : buffers.slots) {
    const std::optional<Wide> bytes = exact.Of(graph.buffers[b].size);
    ASSERT_TRUE(bytes);
    ASSERT_GE(*bytes, 0);
    largest = std::max(largest, *bytes);
    all += *bytes;
  }
  EXPECT_GE(Wide{sized.arena_bytes}, largest);
  all += 64 * Wide(buffers.slots.size());
  EXPECT_LE(Wide{sized.arena_bytes}, all + all / 16);  // ArenaOrder::CutIntoBlocks
  EXPECT_GE(sized.memory_bytes, sized.arena_bytes);
  EXPECT_LE(sized.memory_bytes, MemoryLimit());
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    const std::optional<Wide> bytes = exact.Of(graph.buffers[graph.outputs[k].buffer].size);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(Wide{sized.output_bytes[k]}, *bytes);
    for (int d = 0; d < graph.outputs[k].shape.rank(); ++d) {
      EXPECT_EQ(Wide{sized.results[k].dims[d]}, *exact.Of(graph.outputs[k].shape.dim(d)));
    }
  }
}

// The most elements that a value of the graph has, those inside kernels included.
Wide MostElements(const ir::Graph& graph, const WideEvaluator& exact) {
  Wide most = 0;
  for (const auto& node : graph.nodes()) {
    for (const ir::Shape& shape : node->shapes()) {
      Wide elements = 1;
      for (const Dim& d : shape.dims()) {
        const Wide size = exact.Of(d).value_or(Wide{1} << 100);
        // A dimension of no elements has strides as if it had one.
        if (__builtin_mul_overflow(elements, std::max(size, Wide{1}), &elements)) {
          elements = Wide{1} << 100;
        }
      }
      most = std::max(most, elements);
    }
    for (int r = 0; r < node->num_regions(); ++r) {
      most = std::max(most, MostElements(node->region(r), exact));
    }
  }
  return most;
}

class SizesAttack : public testing::TestWithParam<const char*> {};

TEST_P(SizesAttack, PlansAreExactOrRefused) {
  CompilerOptions options;
  options.backends = tektite::c_api::AllBackends();
  options.backend = GetParam();
  auto compiler = Compiler::Create(std::move(options));
  ASSERT_TRUE(compiler.ok()) << compiler.status();
  Seen seen;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Flavor flavor = seed % 2 == 0 ? Flavor::kExact : Flavor::kRounded;
    const RandomGraph random_graph = MakeRandomGraph(seed, flavor, /*symbolic=*/true);
    CompileJob job;
    job.cluster = "attack";
    job.variant = "sizes";
    auto executable = (*compiler)->Compile(random_graph.graph->Clone(), job);
    if (!executable.ok()) continue;
    const runtime::StepGraph& graph = (*executable)->graph();
    const runtime::SizedCalls plan(
        graph, (*executable)->residence(),
        runtime::AssignBuffers(graph, std::vector<bool>(graph.groups.size(), true), {}));
    std::mt19937 random(seed);
    for (int t = 0; t < 200; ++t) {
      std::vector<int64_t> sizes;
      std::map<std::string, int64_t> symbols;
      for (const std::string& symbol : graph.program.symbols()) {
        // Mostly one large size among small ones, which lets some be planned.
        const size_t most = random() % 3 == 0 ? std::size(kSizes) : 6;
        sizes.push_back(kSizes[random() % most]);
        symbols[symbol] = sizes.back();
      }
      for (const auto& [symbol, size] : random_graph.symbols) symbols.try_emplace(symbol, 1);
      const WideEvaluator exact(symbols);
      const auto sized = plan.For(sizes);
      CheckPlan(graph, plan, *sized, exact, MostElements(*random_graph.graph, exact), &seen);
      if (HasFatalFailure() || HasNonfatalFailure()) {
        FAIL() << "seed " << seed << ", " << random_graph.graph->name();
      }
    }
  }
  EXPECT_GT(seen.planned, 1000);
  EXPECT_GT(seen.refused, 1000);
}

INSTANTIATE_TEST_SUITE_P(Backends, SizesAttack, testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tektite::compiler
