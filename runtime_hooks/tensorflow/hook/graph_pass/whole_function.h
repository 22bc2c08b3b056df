// Functions of which nothing is left but one cluster.
//
// Why: TensorFlow takes 50 to 1,000 us for a call of such a function before its only kernel runs,
// and its Python half as much again; direct_calls.h goes past both.  The graph pass notes on the
// cluster's node which function it is (attributes, so that the kernel knows):
//   _whole_function  the function's name
//   _whole_args      for each input of the cluster the function's argument, -1 for a constant
//   _whole_results   for each result of the function the cluster's output
//
// Limits: no result is an argument, a constant, or the same output as another.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_WHOLE_FUNCTION_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_WHOLE_FUNCTION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {

struct WholeFunction {
  std::string name;
  std::vector<int> args;
  std::vector<int> results;

  // The function noted on a node, if there is one; InvalidArgument where the note makes no sense.
  static absl::StatusOr<std::optional<WholeFunction>> Of(
      tensorflow::OpKernelConstruction* construction);
};

// Whether the node computes something: it is neither an argument, a result, a constant nor an
// identity.
bool IsWork(const tensorflow::Node* node);

// To be called when all clusters are in their places.
void NoteWholeFunction(const tensorflow::GraphOptimizationPassOptions& options);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_WHOLE_FUNCTION_H_
