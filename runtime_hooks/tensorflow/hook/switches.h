// Which graphs Tektite looks at: the environment variable TEKTITE, the session's flag, annotations.
//
// Why one place: the four ways to switch Tektite on are independent (docs/usage.md),
// and their combination must be the same everywhere.
//
//   TEKTITE=1                 every graph; so from a call of tektite.enable() on
//   TEKTITE=scoped            annotated nodes only, whatever the session says
//   unset                     every graph of a session with global_jit_level ON_1 or ON_2, which
//                             tf.config.optimizer.set_jit(True) sets too;
//                             else annotated nodes
//   TEKTITE=0                 nothing (the loader does not even open the hook)
//
// Never: eager ops, one by one, and functions with jit_compile=True, which are XLA's.
//
// Limits: TEKTITE is read once, when the hook is loaded.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_SWITCHES_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_SWITCHES_H_

#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {

enum class Extent {
  kNothing,
  kAnnotated,   // nodes with _XlaCompile=true
  kEverything,  // all but nodes with _XlaCompile=false
};

// The part of the graph of `options` that is to be compiled.  Costs nothing that grows with the
// graph, unless the answer depends on annotations: then one attribute look-up a node.
Extent ExtentFor(const tensorflow::GraphOptimizationPassOptions& options);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_SWITCHES_H_
