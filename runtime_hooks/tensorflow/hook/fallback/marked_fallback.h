// The fallback of a cluster that will not be compiled as it is: without the node that cannot be
// compiled, and with clusters in the place of the parts that can.
//
// Why: a cluster is made, and a loop kept, before anything is known of a call's sizes.  Where the
// importer then refuses one node, or TensorFlow's kernels are faster than a kept loop, its user
// must be no worse off than if the node had been left out, or the loop taken apart, at the
// beginning.
//
//   TF_ASSIGN_OR_RETURN(std::string name,
//                       AddMarkedFallback({body, constants, message}, runtime, &functions));
//
// It takes as long as the graph pass does, so it is done in the background.  A cluster inside may
// be refused in turn, and is made again without any node of that op: so it ends soon.
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
  // The importer's, which names the node ("Op 'node': why"); another names none: then all kept
  // loops are taken apart, as they are where the node is one.
  std::string refusal = {};
  bool leaves_out_op = false;  // every node of the op that was refused
};

// Adds the function to `functions`, with the fallbacks of the clusters in it, and returns its name.
// `runtime` is where it will be instantiated.  InvalidArgument where the bytes are no graph,
// NotFound where nothing would be other than in the cluster.
absl::StatusOr<std::string> AddMarkedFallback(const MarkedRequest& request,
                                              tensorflow::FunctionLibraryRuntime* runtime,
                                              tensorflow::FunctionLibraryDefinition* functions);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_MARKED_FALLBACK_H_
