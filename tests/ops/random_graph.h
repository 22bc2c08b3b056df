// Random valid graphs with static shapes of every element type, with inputs to run them on: for
// comparing back ends with the reference interpreter.
//
//   RandomGraphOptions options;
//   options.dtypes = {DType::kF32};
//   std::unique_ptr<ir::Graph> g = RandomGraph(seed, options);
//   auto expected = reference::Evaluate(*g, RandomInputs(*g, seed));
//
// The same seed produces the same graph on every machine.  Dimensions of size 0 and 1 are frequent,
// and inputs hold NaN, infinities, zeros of both signs, denormals and the extremes of integers.
// (The passes' tests have a generator of their own, in flavors that tell which rewrites are exact.)
#ifndef TEKTITE_TESTS_OPS_RANDOM_GRAPH_H_
#define TEKTITE_TESTS_OPS_RANDOM_GRAPH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "jit/ir/graph.h"

namespace tektite::testing {

struct RandomGraphOptions {
  int parameters = 3;
  int nodes = 12;        // attempts; some add nodes that adapt shapes and types
  int64_t max_size = 5;  // of a dimension
  int64_t max_elements = 4000;
  std::vector<ir::DType> dtypes = {ir::DType::kF32};  // of parameters and conversions
  bool reductions = true;                             // reduce, reduce_window, cumulative
  bool contractions = true;                           // dot_general
  bool movement = true;        // everything but broadcasts, which elementwise ops need
  bool transcendental = true;  // functions whose last bits differ between implementations
  bool zero_sizes = true;
};

std::unique_ptr<ir::Graph> RandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

// One value for each parameter; with `special`, about one element in eight is no ordinary number.
std::vector<ir::Literal> RandomInputs(const ir::Graph& graph, uint64_t seed, bool special = true);

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_OPS_RANDOM_GRAPH_H_
