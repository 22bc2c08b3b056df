// The implementations of kernels that the CPU back end has, in one list.
//
//   SchedulesFor(fusion, facts, target)       // what fits a contraction, in order of preference
//   TEKTITE_ASSIGN_OR_RETURN(MadeKernel k, MakeKernel(fusion, target, "k0_softmax"));
#ifndef TEKTITE_BACKENDS_CPU_IMPLEMENTATION_LIST_H_
#define TEKTITE_BACKENDS_CPU_IMPLEMENTATION_LIST_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/backend/kernel.h"
#include "jit/ir/graph.h"
#include "jit/target/schedules.h"

namespace tektite::cpu {

// The answers of the rows of the fusion's kind, up to the first that fits.  `emitted_only`: for
// code that runs where no other library is.
std::vector<target::Offer> SchedulesFor(const ir::Node& fusion, const target::Facts& facts,
                                        const Target& target, bool emitted_only = false);

// Code to compile, or a kernel that is compiled already.
struct MadeKernel {
  EmittedKernel code;
  std::shared_ptr<const backend::Kernel> ready;
};

// The kernel of the implementation that the fusion's schedule names, or of the first row of its
// kind that takes the fusion; the last refusal if none does.  A row that has no code in spite of
// the schedule, for an op of the epilogue, leaves the fusion to those behind it.
// `emits_packing`: for code that packs weights where Tektite is not.
absl::StatusOr<MadeKernel> MakeKernel(const ir::Node& fusion, const Target& target,
                                      const std::string& name, bool emits_packing = false);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_IMPLEMENTATION_LIST_H_
