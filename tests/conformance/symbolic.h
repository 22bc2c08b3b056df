// A static graph with symbols for its sizes, and a runner of kernels that serve all of them.
//
//   SymbolicCase c = Symbolize(graph);                       // f32[8,768] -> f32[n0,768]
//   KernelRunner runner(compiler, std::move(backend));
//   TEKTITE_RETURN_IF_ERROR(runner.Compile(*c.graph));       // once
//   runner.Run(c.values, inputs);  runner.Run(others, ...);  // for any sizes
//
// Why a runner beside the runtime: it runs the passes and the kernels and nothing else, looks for
// stores beside each result, and runs chunks in another order to see that they are independent.
#ifndef TEKTITE_TESTS_CONFORMANCE_SYMBOLIC_H_
#define TEKTITE_TESTS_CONFORMANCE_SYMBOLIC_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "jit/backend/backend.h"
#include "jit/cache/kernel_store.h"
#include "jit/compiler/compiler.h"
#include "jit/ir/graph.h"

namespace tektite::testing {

using SizeValues = std::vector<std::pair<std::string, int64_t>>;

struct SymbolicCase {
  std::unique_ptr<ir::Graph> graph;
  SizeValues values;  // what the symbols stand for in the original; empty: nothing may be symbolic
};

// A symbol for each distinct size (of at least 2) of a parameter that is no weight, as far as shape
// inference goes along.
SymbolicCase Symbolize(const ir::Graph& graph);

// A copy with the symbols replaced by these values.
std::unique_ptr<ir::Graph> WithSizes(const ir::Graph& graph, const SizeValues& values);

class KernelRunner {
 public:
  KernelRunner(compiler::Compiler* compiler, std::unique_ptr<backend::Backend> backend);

  // Runs the passes on `graph` and compiles its fusions.  A fusion that the back end refuses is
  // taken apart; what it refuses then is left to the interpreter and named in refusals().
  absl::Status Compile(const ir::Graph& graph);
  const std::vector<std::string>& refusals() const { return refusals_; }

  // Runs what was compiled; asks the kernel store for every kernel again.
  absl::StatusOr<std::vector<ir::Literal>> Run(const SizeValues& values,
                                               const std::vector<ir::Literal>& inputs);
  // Kernels that were made so far, for whatever sizes.
  int64_t compiled() const { return compiled_; }
  int num_fusions() const { return num_fusions_; }

 private:
  absl::StatusOr<cache::KernelPtr> KernelFor(const ir::Node& fusion);
  absl::Status CompileFusion(ir::Node* fusion);
  absl::Status RunFusion(const ir::Node& fusion, const backend::Kernel& kernel,
                         const ir::SymbolMap& symbols,
                         absl::flat_hash_map<ir::Value, ir::Literal>* literals);

  compiler::Compiler* compiler_;
  std::unique_ptr<backend::Backend> backend_, reference_;
  cache::KernelStore store_;
  std::unique_ptr<ir::Graph> graph_;
  std::vector<std::string> refusals_;
  int num_fusions_ = 0;
  int64_t compiled_ = 0;
};

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_CONFORMANCE_SYMBOLIC_H_
