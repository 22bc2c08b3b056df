// How the gradient of a grouped convolution's filter is cut (grouped_filter_emitter.cc).
//
// A step computes `taps` neighbouring taps of a row, `channels` of each group and the vectors of a
// panel: that many sums are registers.  A filter of 3x3 taps with 4 channels for each group has 3
// steps of 3 taps and 4 channels for a panel.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_GROUPED_GROUPED_FILTER_TILING_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_GROUPED_GROUPED_FILTER_TILING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/contraction/grouped/group_lanes.h"
#include "jit/base/rounding.h"

namespace tektite::cpu {

struct GroupedFilterTiling {
  // Sizes of one spatial dimension.
  struct Axis {
    ir::Dim in = 1, out = 1;  // pixels of x and of dy
    int64_t taps = 1;
    int64_t tap_step = 1, step = 1;  // pixels of x from tap to tap, and from pixel of dy to pixel
  };

  ContractionTiling contraction;  // its vectors are those of a panel
  GroupLanes lanes;
  ir::Dim images;
  Axis y, x;
  int64_t taps = 1, channels = 1;  // of a step
  int64_t pixels = 4;              // of dy, whose code is one piece
  int64_t unit_steps = 1;          // of a unit of work

  int64_t channel_blocks() const { return CeilDiv(lanes.in(), channels); }
  // Where channels are shuffled, each block of them has code of its own, and a step takes all.
  int64_t looped_channel_blocks() const { return lanes.SharesChannels() ? channel_blocks() : 1; }
  // For each panel.
  int64_t steps() const { return y.taps * (x.taps / taps) * looped_channel_blocks(); }
};

// Unimplemented with a reason for what has no code.
absl::StatusOr<GroupedFilterTiling> TileGroupedFilter(const ir::Node& fusion,
                                                      const target::Schedule* schedule,
                                                      const target::TargetInfo& target);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_GROUPED_GROUPED_FILTER_TILING_H_
