// scatter and update_rows: kernels that write some places of an array that has the operand's
// elements everywhere else.
//
// A result may lie where its operand does.  Then nothing is copied, and the work is that of the
// updates, however large the array is: the kernel compares the two addresses.  Updates are applied
// in their order, since two of them may meet: each chunk those of its own rows of the result.
//
// Limits: one op per fusion; an operand in memory, or (scatter) one value everywhere.
#ifndef TEKTITE_BACKENDS_CPU_LOOPS_SCATTER_EMITTER_H_
#define TEKTITE_BACKENDS_CPU_LOOPS_SCATTER_EMITTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/ir/graph.h"

namespace tektite::cpu {

// `root` is the op that computes all results of the fusion.
absl::StatusOr<EmittedKernel> EmitScatter(const ir::Node& fusion, const ir::Node& root,
                                          const Target& target, const std::string& name);
absl::StatusOr<EmittedKernel> EmitUpdateRows(const ir::Node& fusion, const ir::Node& root,
                                             const Target& target, const std::string& name);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LOOPS_SCATTER_EMITTER_H_
