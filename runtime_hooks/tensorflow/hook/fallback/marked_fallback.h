// The fallback of a cluster that holds kept loops and will not be compiled: its loops taken apart,
// and clusters in the place of the parts that can be compiled.
//
// Why: a loop is kept before anything is known of a call's sizes.  Where the importer then refuses
// it, or TensorFlow's kernels are faster, its user must be no worse off than if it had been taken
// apart at the beginning, with small clusters inside.
//
//   TF_ASSIGN_OR_RETURN(std::string name, AddMarkedFallback({body, constants}, runtime,
//   &functions));
//
// It takes as long as the graph pass does, so it is done in the background, at the first refusal.
// Limits: large constants are no constants to the clusters inside: they are arguments there.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_MARKED_FALLBACK_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_MARKED_FALLBACK_H_

#include <string>
#include <vector>

#include "tensorflow/core/framework/function.h"

namespace tektite::tf_hook {

struct MarkedRequest {
  std::string body;                  // the cluster's, as GraphDef bytes
  std::vector<int> constant_inputs;  // _Arg indices that constants feed; ascending
};

// Adds the function to `functions`, with the fallbacks of the clusters in it, and returns its name.
// `runtime` is where it will be instantiated.  InvalidArgument where the bytes are no graph.
absl::StatusOr<std::string> AddMarkedFallback(const MarkedRequest& request,
                                              tensorflow::FunctionLibraryRuntime* runtime,
                                              tensorflow::FunctionLibraryDefinition* functions);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_MARKED_FALLBACK_H_
