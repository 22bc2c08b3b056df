// Functional loops and branches (While, If, Case) that the graph pass keeps whole, so that they can
// be parts of clusters.
//
// Why: TensorFlow takes them apart into Enter, Switch, Merge and Exit nodes before it places a
// graph, in phase 10 of PRE_PLACEMENT, and at the end the compiler would see a dozen small clusters
// for each turn.  keep_loops.cc goes first and turns off the attribute that asks for it:
//
//   before:  While 'w' _lower_using_switch_merge=true
//   after:   While 'w' _lower_using_switch_merge=false _tektite_kept=true
//
// A kept loop is in a cluster at the end, whose fallback has it taken apart, or is taken apart in
// its place (LowerLoops).  Both are optimized by Grappler then, as TensorFlow does it: fused
// kernels in a body are worth more than what the detour costs.
//
//   LowerLoops(KeptLoops(graph), options);
//
// Grappler sees the loop's constants, what is known of its shapes, and which results are read.
// Limits: what it would have known from other nodes around the loop it does not know.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_KEPT_LOOPS_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_KEPT_LOOPS_H_

#include <string>
#include <vector>

#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {

// Whether TensorFlow would take a node with these attributes apart.
bool IsToBeLowered(tensorflow::AttrSlice attributes);
bool IsKept(const tensorflow::Node& node);
void Keep(tensorflow::Node* node);
void Keep(tensorflow::NodeDef* node);

std::vector<tensorflow::Node*> KeptLoops(const tensorflow::Graph& graph);

// Takes kept loops of the graph of `options` apart, each for the device that it is assigned to.
// TensorFlow's kernels for functional loops, which are slower, run a loop that cannot be taken
// apart; it is not a kept loop any more.
void LowerLoops(const std::vector<tensorflow::Node*>& loops,
                const tensorflow::GraphOptimizationPassOptions& options);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_KEPT_LOOPS_H_
