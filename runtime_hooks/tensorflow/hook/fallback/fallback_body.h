// The function that stands in for a cluster, made of the kernels that stock TensorFlow would run.
//
// Why: TensorFlow puts oneDNN's kernels in the place of its own after the graph pass, when a graph
// has been cut into partitions, and not in functions that a kernel calls.  Without this a cluster
// that falls back would run slower than stock TensorFlow and word some errors otherwise.
//
//   TF_ASSIGN_OR_RETURN(FunctionDef function, FallbackFunction(std::move(body), request));
//
// The pass for oneDNN sees only the nodes that concern it, since it takes half a millisecond for
// each op that it meets first.
//
// Limits: a kernel of TensorFlow's that looks at a large constant's values while it is chosen finds
// a scalar of its type; none does so in 2.21.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_FALLBACK_BODY_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_FALLBACK_BODY_H_

#include <memory>
#include <string>
#include <vector>

#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {

struct FallbackRequest {
  std::string device;                // the full name of the cluster's device
  std::vector<int> constant_inputs;  // _Arg indices that constants feed; ascending
  const tensorflow::GraphOptimizationPassOptions* pass_options = nullptr;  // of our own pass
};

// `body` has _Arg and _Retval nodes.  The function has no name yet.
absl::StatusOr<tensorflow::FunctionDef> FallbackFunction(std::unique_ptr<tensorflow::Graph> body,
                                                         const FallbackRequest& request);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_FALLBACK_BODY_H_
