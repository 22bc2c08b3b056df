// Kernels that run loops over the elements, rows or windows of arrays;
// backends/cpu/implementation_list.cc says in which order they are tried.
#ifndef TEKTITE_BACKENDS_CPU_LOOPS_LOOP_EMITTERS_H_
#define TEKTITE_BACKENDS_CPU_LOOPS_LOOP_EMITTERS_H_

#include <string>

#include "absl/status/statusor.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/ir/graph.h"

namespace tektite::cpu {

// Elementwise work and data movement; a concatenate at the end is written piece by piece, and a
// part of an operand that a result lies in is updated there (jit/ir/writes.h).
absl::StatusOr<EmittedKernel> EmitLoop(const ir::Node& fusion, const Target& target,
                                       const std::string& name);

// Each kernel that another implementation may stand in for has a check: Unimplemented with the
// reason where there is no code.

// Reductions over the innermost dimension and all that shares their rows: each row goes through the
// stages between reductions while it is in L1.
absl::Status CheckRow(const ir::Node& fusion);
absl::StatusOr<EmittedKernel> EmitRow(const ir::Node& fusion, const Target& target,
                                      const std::string& name);

// Any other reduction.
absl::Status CheckReduce(const ir::Node& fusion);
absl::StatusOr<EmittedKernel> EmitReduce(const ir::Node& fusion, const Target& target,
                                         const std::string& name);

// reduce_window, vectorized over the innermost dimension.
absl::Status CheckWindow(const ir::Node& fusion);
absl::StatusOr<EmittedKernel> EmitWindow(const ir::Node& fusion, const Target& target,
                                         const std::string& name);

// select_and_scatter, vectorized over the innermost dimension.
absl::StatusOr<EmittedKernel> EmitWindowGradient(const ir::Node& fusion, const Target& target,
                                                 const std::string& name);

// cumulative, reductions by a region, and scatter, alone.
absl::StatusOr<EmittedKernel> EmitSingle(const ir::Node& fusion, const Target& target,
                                         const std::string& name);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LOOPS_LOOP_EMITTERS_H_
