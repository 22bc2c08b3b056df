// Makes constants of a compiled graph's arguments whose values are known.
//
//   BindValues(values, &graph, &roles, &names);    // values by parameter
//
// Variables that a function does not change have the same value in each call of a library, and are
// bound after the graph is compiled: so the passes see what they see in the JIT, weights whose
// values they do not know, and make the same kernels of it.  A value folded earlier, as one of a
// batch normalization into a filter, is rounded in another place.
#ifndef TEKTITE_JIT_AOT_BIND_VALUES_H_
#define TEKTITE_JIT_AOT_BIND_VALUES_H_

#include <map>

#include "jit/aot/library.h"
#include "jit/ir/literal.h"
#include "jit/runtime/step_graph.h"

namespace tektite::aot {

// The other parameters are renumbered.
// A value is of its parameter's type, whose sizes are known; no parameter of `roles` has one.
void BindValues(const std::map<int, ir::Literal>& values, runtime::StepGraph* graph,
                runtime::OutputRoles* roles, Names* names);

}  // namespace tektite::aot

#endif  // TEKTITE_JIT_AOT_BIND_VALUES_H_
