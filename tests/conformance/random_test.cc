// Random graphs through the whole pipeline.
#include "tests/ops/random_graph.h"

#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "jit/reference/interpreter.h"
#include "tests/conformance/harness.h"

namespace tektite::testing {
namespace {

using ir::DType;
using ir::Literal;

CompileOptions MayInterpret() {
  CompileOptions options;
  options.may_interpret = true;
  return options;
}

uint64_t FirstSeed() {
  const char* text = std::getenv("TEKTITE_CONFORMANCE_SEED");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}
uint64_t NumSeeds() {
  const char* text = std::getenv("TEKTITE_CONFORMANCE_SEEDS");
  return text == nullptr ? 100 : std::strtoull(text, nullptr, 10);
}

// Integers wrap around, so every order of evaluation returns the same bits.
CONFORMANCE_TEST(RandomIntegers) {
  RandomGraphOptions options;
  options.dtypes = {DType::kS32, DType::kS64, DType::kU8, DType::kS16, DType::kBool};
  options.max_size = 9;
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + NumSeeds(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    auto graph = RandomGraph(seed, options);
    Check(*graph, RandomInputs(*graph, seed), {}, MayInterpret());
    if (HasFailure()) return;
  }
}

// No sums, so results are exact, also of NaN and infinities; only the sign of max(0, -0) is free.
CONFORMANCE_TEST(RandomFloatsWithoutSums) {
  RandomGraphOptions options;
  options.reductions = options.contractions = options.transcendental = false;
  options.dtypes = {DType::kF32, DType::kF64, DType::kBF16, DType::kS32};
  options.max_size = 18;
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + NumSeeds(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    auto graph = RandomGraph(seed, options);
    Check(*graph, RandomInputs(*graph, seed), Tolerance::Relative(1e-12), MayInterpret());
    if (HasFailure()) return;
  }
}

// Everything.  How far a result may be off follows from how much it moves when the inputs move a
// little; a graph that a rounding can turn into something else is left out.
CONFORMANCE_TEST(RandomFloats) {
  RandomGraphOptions options;
  options.max_size = 9;
  options.nodes = 16;
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + NumSeeds(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    auto graph = RandomGraph(seed, options);
    for (size_t i = 0; i < graph->parameters().size(); i += 2) {
      if (seed % 2) graph->parameter(static_cast<int>(i))->attrs().Set(ir::Attr::weight, true);
    }
    const auto inputs = RandomInputs(*graph, seed, /*special=*/false);
    auto want = reference::Evaluate(*graph, inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    std::vector<std::vector<Literal>> moved;
    for (double by : {3e-7, -4e-7, 1e-6}) {
      std::vector<Literal> near;
      for (size_t i = 0; i < inputs.size(); ++i) {
        Literal copy = Literal::CopyOf(inputs[i].dtype(), inputs[i].sizes(), inputs[i].raw());
        for (int64_t e = 0; e < copy.num_elements(); ++e) {
          float& x = copy.mutable_data<float>()[e];
          x = x * (1 + static_cast<float>((e + static_cast<int64_t>(i)) % 3 == 0 ? -by : by));
        }
        near.push_back(std::move(copy));
      }
      moved.push_back(*reference::Evaluate(*graph, near));
    }
    auto got = CompileAndRun(*graph, inputs, MayInterpret());
    if (IsRefusal(got.status())) continue;
    ASSERT_TRUE(got.ok()) << got.status() << "\n" << ir::Print(*graph);
    for (size_t o = 0; o < want->size(); ++o) {
      const Literal& w = (*want)[o];
      if (w.dtype() != DType::kF32) continue;
      double largest = 0;
      for (int64_t e = 0; e < w.num_elements(); ++e) {
        if (std::isfinite(w.AsDouble(e))) largest = std::max(largest, std::fabs(w.AsDouble(e)));
      }
      for (int64_t e = 0; e < w.num_elements(); ++e) {
        const double expected = w.AsDouble(e), actual = (*got)[o].AsDouble(e);
        double spread = 0;
        bool finite = std::isfinite(expected);
        for (const auto& m : moved) {
          spread = std::max(spread, std::fabs(m[o].AsDouble(e) - expected));
          finite &= std::isfinite(m[o].AsDouble(e));
        }
        if (!finite) continue;
        ASSERT_LE(std::fabs(actual - expected), 2e-6 * largest + 10 * spread)
            << "result " << o << "[" << e << "] is " << actual << ", expected " << expected << "\n"
            << ir::Print(*graph);
      }
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tektite::testing
