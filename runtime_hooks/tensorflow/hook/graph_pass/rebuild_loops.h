// Loops that a graph holds taken apart, as TensorFlow 1 writes them, made whole again.
//
//   Enter, Merge, LoopCond, Switch,          ==>     While 'w/LoopCond' _tektite_kept=true
//   NextIteration, Exit of frame 'w'
//
// Why: a frozen graph of TensorFlow 1, and a program with control flow of version 1, have no
// functional loops that the graph pass could keep (keep_loops.h).  Cut into Enter and Switch nodes
// a loop gets a dozen small clusters for each turn.
//
//   if (RebuildLoops(library, options)) ...   // *options.graph is another graph
//
// It stands where a graph has been placed, optimized and pruned to what is fed and fetched, so no
// name that a program asks for can be lost.  TensorFlow's own FunctionalizeWhileLoop, which it has
// for XLA, works on a copy.  The copy is taken if the compiler would put each loop so rebuilt into
// a cluster; loops that it would not are left out and the rest is tried again.  Otherwise, and
// after any error, the graph stays as it was.
//
// Functional loops that TensorFlow took apart itself are none of these: they have been looked at.
//
// Limits: loops with references to tensors or on several devices stay taken apart, and so does
// each loop of a graph in which a node with effects would be lost, as one that nothing in its loop
// waits for.  Branches outside of loops stay taken apart.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_REBUILD_LOOPS_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_REBUILD_LOOPS_H_

#include "runtime_hooks/tensorflow/hook/compiler_library.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {

// Whether the graph has a loop that its program took apart.
bool HasLoweredLoops(const tensorflow::Graph& graph);

// Whether the graph of `options` was replaced; its functions are in their library then.
bool RebuildLoops(const CompilerLibrary& library,
                  const tensorflow::GraphOptimizationPassOptions& options);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_REBUILD_LOOPS_H_
