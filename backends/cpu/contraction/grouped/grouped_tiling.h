// How a convolution of groups is cut (grouped_emitter.cc).
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_GROUPED_GROUPED_TILING_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_GROUPED_GROUPED_TILING_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/contraction/grouped/group_lanes.h"

namespace tektite::cpu {

struct GroupedTiling {
  // Its tile is a part of a row: so many pixels (rows) and vectors of features.
  ContractionTiling contraction;
  GroupLanes lanes;
};

// Unimplemented with a reason for what has no code.
absl::StatusOr<GroupedTiling> TileGrouped(const ir::Node& fusion, const target::Schedule* schedule,
                                          const target::TargetInfo& target);

// Sets what a plan says of the operands of a convolution of groups, or of the gradient of its
// filter: types and lanes.  Unimplemented where there is no code for them.
absl::Status TakeOperands(const ir::Node& root, const target::TargetInfo& target,
                          ContractionTiling* plan);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_GROUPED_GROUPED_TILING_H_
