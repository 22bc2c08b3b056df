// Loops around a transpose: read along one dimension, written along another.
#ifndef TEKTITE_BACKENDS_CPU_LOOPS_TRANSPOSE_EMITTER_H_
#define TEKTITE_BACKENDS_CPU_LOOPS_TRANSPOSE_EMITTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "backends/cpu/emit/emitter.h"

namespace tektite::cpu {

// A transpose that moves the innermost dimension, with elementwise work and reversals before and
// behind it, of one operand and elements of 4 or 8 bytes.  Unimplemented for anything else.
absl::Status CheckTransposingLoop(const ir::Node& fusion);
absl::StatusOr<EmittedKernel> EmitTransposingLoop(const ir::Node& fusion, const Target& target,
                                                  const std::string& name);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LOOPS_TRANSPOSE_EMITTER_H_
