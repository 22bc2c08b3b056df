// Asks the compiler which nodes of a graph form clusters, and puts one TektiteCluster node in the
// place of each.  A graph that comes again, since tf.data instantiates its functions anew with each
// iterator, gets what an equal one got.
//
//   CompileGraph(options, Extent::kEverything);   // changes *options.graph
//
// It never fails: a graph that it cannot help with is left as it was.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_COMPILE_GRAPH_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_COMPILE_GRAPH_H_

#include "runtime_hooks/tensorflow/hook/switches.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"

namespace tektite::tf_hook {

// Of `options` it needs the graph, whose nodes are assigned to devices, the library, the devices
// and the session's options.  Kept loops (kept_loops.h) that are in no cluster are taken apart.
// `rebuilds_loops`: whether loops that the graph has taken apart may be made whole
// (rebuild_loops.h).
void CompileGraph(const tensorflow::GraphOptimizationPassOptions& options, Extent extent,
                  bool rebuilds_loops = true);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_COMPILE_GRAPH_H_
