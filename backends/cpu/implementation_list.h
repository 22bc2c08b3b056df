// The implementations of kernels that the CPU back end has, in one list.
//
//   SchedulesFor(fusion, facts, target)       // what fits a contraction, in order of preference
//   TEKTITE_ASSIGN_OR_RETURN(EmittedKernel k, EmitKernel(fusion, target, "k0_softmax"));
#ifndef TEKTITE_BACKENDS_CPU_IMPLEMENTATION_LIST_H_
#define TEKTITE_BACKENDS_CPU_IMPLEMENTATION_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/ir/graph.h"
#include "jit/target/schedules.h"

namespace tektite::cpu {

// An offer of each row of the fusion's kind that can be chosen before code is made.
std::vector<target::Offer> SchedulesFor(const ir::Node& fusion, const target::Facts& facts,
                                        const Target& target);

// The kernel of the implementation that the fusion's schedule names, or of the first row of its
// kind that takes the fusion; the last refusal if none does.  A row that refuses in spite of the
// schedule leaves the fusion to those behind it.
absl::StatusOr<EmittedKernel> EmitKernel(const ir::Node& fusion, const Target& target,
                                         const std::string& name);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_IMPLEMENTATION_LIST_H_
