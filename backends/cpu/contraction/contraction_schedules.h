// Whether an implementation of contractions fits a fusion, and with which layout of weights: the
// first half of each row of backends/cpu/implementation_list.cc.
//
//   absl::StatusOr<target::Schedule> schedule = FitsWinograd(fusion, facts, target);
//
// All return Unimplemented with the reason where they do not fit.  With facts.rhs_is_weights they
// answer for the fusion as assign_layouts will have made it.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_SCHEDULES_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_SCHEDULES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/contraction/contraction_plan.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/ir/graph.h"
#include "jit/target/schedules.h"

namespace tektite::cpu {

absl::StatusOr<target::Schedule> FitsTiles(const ir::Node& fusion, const target::Facts& facts,
                                           const Target& target);
absl::StatusOr<target::Schedule> FitsPairs(const ir::Node& fusion, const target::Facts& facts,
                                           const Target& target);
absl::StatusOr<target::Schedule> FitsStreamed(const ir::Node& fusion, const target::Facts& facts,
                                              const Target& target);
absl::StatusOr<target::Schedule> FitsWinograd(const ir::Node& fusion, const target::Facts& facts,
                                              const Target& target);
absl::StatusOr<target::Schedule> FitsGrouped(const ir::Node& fusion, const target::Facts& facts,
                                             const Target& target);
absl::StatusOr<target::Schedule> FitsGroupedFilter(const ir::Node& fusion,
                                                   const target::Facts& facts,
                                                   const Target& target);

// Register tiles other than the usual one, each as a variant of that schedule.
std::vector<target::Schedule> OtherTiles(const ir::Node& fusion, const target::Facts& facts,
                                         const Target& target);

// A plan of a dot_general whose right-hand side is streamed (streamed_product.cc).
absl::StatusOr<ContractionPlan> PlanStreamed(const ir::Node& fusion, const Target& target);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_SCHEDULES_H_
