// The kernel emitters of the CPU back end, in one list.
//
//   TEKTITE_ASSIGN_OR_RETURN(EmittedKernel k, EmitKernel(fusion, target, "k0_softmax"));
#ifndef TEKTITE_BACKENDS_CPU_EMITTER_LIST_H_
#define TEKTITE_BACKENDS_CPU_EMITTER_LIST_H_

#include <string>

#include "absl/status/statusor.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/ir/graph.h"

namespace tektite::cpu {

// Tries the emitters that fit the fusion's kind in order, and returns the first kernel, or the last
// refusal.
absl::StatusOr<EmittedKernel> EmitKernel(const ir::Node& fusion, const Target& target,
                                         const std::string& name);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_EMITTER_LIST_H_
