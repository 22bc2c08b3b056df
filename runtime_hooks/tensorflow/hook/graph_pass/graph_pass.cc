// The graph pass: has each graph compiled (compile_graph.h).
//
// Where it stands: POST_REWRITE_FOR_EXEC, after Grappler, placement, inlining and pruning to feeds
// and fetches; phase 5, ahead of XLA's marking in phase 10, which then finds those nodes gone. What
// it promises: a graph it cannot help with is left as it was, and it never fails: an error of ours
// is no reason for a user's program to stop.

#include <algorithm>

#include "runtime_hooks/tensorflow/hook/graph_pass/compile_graph.h"
#include "runtime_hooks/tensorflow/hook/graph_pass/whole_function.h"
#include "runtime_hooks/tensorflow/hook/switches.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::Graph;
using tensorflow::GraphOptimizationPassOptions;

constexpr int kPhase = 5;

// Graphs without any work in them (a function that returns its argument, an initializer) are the
// most common ones of all; they are sent away before anything is allocated.
bool HasWork(const Graph& graph) {
  const auto nodes = graph.op_nodes();
  return std::any_of(nodes.begin(), nodes.end(), IsWork);
}

class TektitePass : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const GraphOptimizationPassOptions& options) override {
    if (options.graph == nullptr || *options.graph == nullptr || options.flib_def == nullptr ||
        !HasWork(**options.graph)) {
      return absl::OkStatus();
    }
    CompileGraph(options, ExtentFor(options));
    NoteWholeFunction(options);
    return absl::OkStatus();
  }
};

REGISTER_OPTIMIZATION(tensorflow::OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, kPhase,
                      TektitePass);

}  // namespace
}  // namespace tektite::tf_hook
