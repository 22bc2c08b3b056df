// Keeps the turns of a loop with effects one after the other.
//
// Why: TensorFlow lets several turns of a loop (Enter, Merge, Switch, NextIteration) run at once,
// and nothing says in which order the random draws, prints and assignments of two turns come.  Its
// own kernels do the few ops that count the turns where they stand, so effects come in the order of
// the turns all the same.  A cluster in the place of these ops runs ahead, and the effects of later
// turns come first.
//
//   before:  Enter 'w/i' parallel_iterations=10   beside a cluster and a RandomUniform
//   after:   Enter 'w/i' parallel_iterations=1    a turn begins when the one before it has ended
//
//   OrderLoops(&graph);   // when clusters have been placed
//
// Loops around such a loop are ordered, too.  Loops without a cluster stay as they are.  Ops that
// only read, variables too, are no effects, unless something in the loop writes.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_ORDERED_LOOPS_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_ORDERED_LOOPS_H_

#include "tensorflow/core/graph/graph.h"

namespace tektite::tf_hook {

void OrderLoops(tensorflow::Graph* graph);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_GRAPH_PASS_ORDERED_LOOPS_H_
