// Random graphs for property tests of the passes, with inputs to run them on.
//
//   RandomGraph r = MakeRandomGraph(seed, Flavor::kExact);
//   reference::Evaluate(*r.graph, r.arguments)
//
// The same seed produces the same graph.  A flavor fixes how closely two ways to compute it must
// agree.  A graph of symbolic sizes computes what the static one of its `symbols` computes; for
// other sizes some of its slices may lie outside of what they are taken from.
#ifndef TEKTITE_TESTS_PASSES_RANDOM_GRAPH_H_
#define TEKTITE_TESTS_PASSES_RANDOM_GRAPH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "jit/ir/graph.h"

namespace tektite {

enum class Flavor {
  kExact,     // elementwise and data movement on any values, -0, inf and NaN too: same bits
  kIntegral,  // sums and products of small integers as well: equal numbers
  kRounded,   // transcendental functions and sums of any floats: equal up to rounding
};

struct RandomGraph {
  std::unique_ptr<ir::Graph> graph;
  ir::SymbolMap symbols = {};  // the sizes that the arguments have
  std::vector<ir::Literal> arguments;
};

RandomGraph MakeRandomGraph(uint32_t seed, Flavor flavor, bool symbolic = false);
// Other arguments for a graph, of these sizes.
std::vector<ir::Literal> MakeArguments(const ir::Graph& graph, const ir::SymbolMap& symbols,
                                       uint32_t seed, Flavor flavor);

}  // namespace tektite

#endif  // TEKTITE_TESTS_PASSES_RANDOM_GRAPH_H_
