#include "backends/cpu/contraction/grouped/grouped_filter_tiling.h"

#include <algorithm>
#include <vector>

#include "backends/cpu/contraction/contraction_tiles.h"
#include "backends/cpu/contraction/grouped/grouped_tiling.h"
#include "jit/base/lists.h"
#include "jit/base/status.h"
#include "jit/ops/filter_gradient.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using ir::Node;
using target::TargetInfo;

// A step takes the taps of a row together, up to so many.
constexpr int64_t kMostTaps = 12;
constexpr int64_t kMostPixels = 8;
// Units are at least so many where there are steps for them, for as many threads.
constexpr int64_t kEnoughUnits = 8;

absl::Status ReadGeometry(const Node& root, int lanes, GroupedFilterTiling& p) {
  TEKTITE_ASSIGN_OR_RETURN(ops::ConvDims dims,
                           ops::GetConvDims(root.operand_shape(0).rank(), root.attrs()));
  const ir::Shape &x = root.operand_shape(0), &dy = root.operand_shape(1);
  const int64_t groups = dims.batch_groups, channels = x.dims().back().value_or(0),
                features = dy.dims().back().value_or(0);
  if (!ops::IsFilterGradient(dims) || dims.feature_groups != 1 || groups == 1 || dims.spatial > 2 ||
      channels < groups || features < groups) {
    return Unimplemented(root.Describe(), ": not the gradient of a filter of groups");
  }
  if (!AllAre(dims.low, 0) || !AllAre(dims.high, 0) || !AllAre(dims.lhs_dilation, 1)) {
    return Unimplemented(root.Describe(), ": padding inside the gradient of a filter");
  }
  p.lanes = GroupLanes(groups, channels / groups, features / groups, lanes);
  p.images = x.dim(0);
  GroupedFilterTiling::Axis* const axes[] = {&p.y, &p.x};
  for (int i = 0; i < dims.spatial; ++i) {
    const Dim& taps = root.shape().dim(i);
    if (!taps.is_constant()) return Unimplemented(root.Describe(), ": any number of taps");
    *axes[2 - dims.spatial + i] = {x.dim(1 + i), dy.dim(1 + i), taps.value(), dims.strides[i],
                                   dims.rhs_dilation[i]};
  }
  return absl::OkStatus();
}

// Of features in a panel: sums enough to hide the latency of an addition, no more than there are
// registers for, and as few idle ones in the last panel as may be.
int64_t ChooseVectors(int64_t registers, int64_t needed, int64_t sums) {
  const int64_t least = std::min(CeilDiv(kEnoughAccumulators, sums), needed);
  int64_t best = least;
  for (int64_t v = least; v <= needed && v * sums <= registers; ++v) {
    if (CeilDiv(needed, v) * v < CeilDiv(needed, best) * best) best = v;
  }
  return best;
}

// For a multiply-add, what a step reads: a vector of the gradient serves all taps and channels, and
// a channel all vectors and, about, the taps.
double ReadsOf(const GroupedFilterTiling& p, int64_t vectors, int64_t channels) {
  const auto padded = [](int64_t size, int64_t block) {
    return static_cast<double>(RoundUp(size, block)) / static_cast<double>(size);
  };
  const double reads =
      1 / static_cast<double>(p.taps * channels) + 1.5 / static_cast<double>(p.taps * vectors);
  return (1 + reads) * padded(p.lanes.vectors(), vectors) * padded(p.lanes.in(), channels);
}

// Equal parts of a row of known width.
void ChoosePixels(GroupedFilterTiling& p) {
  if (!p.x.out.is_constant() || p.x.out == Dim(0)) return;
  p.pixels = CeilDiv(p.x.out.value(), CeilDiv(p.x.out.value(), kMostPixels));
}

void ChooseStep(const TargetInfo& target, GroupedFilterTiling& p) {
  const int64_t registers = target.vector_registers * 3 / 4;
  p.taps = std::max<int64_t>(std::min(p.x.taps, kMostTaps), 1);
  while (p.x.taps % p.taps != 0) --p.taps;
  const int64_t room = std::max<int64_t>(registers / p.taps, 1);  // vectors x channels
  ChoosePixels(p);
  if (!p.lanes.SharesChannels()) {
    p.channels = std::min(p.lanes.in(), room);
    p.contraction.vectors =
        static_cast<int>(ChooseVectors(registers, p.lanes.vectors(), p.taps * p.channels));
    return;
  }
  double least = 0;
  for (int64_t vectors = 1; vectors <= std::min(p.lanes.vectors(), room); ++vectors) {
    for (int64_t channels = 1; channels <= std::min(p.lanes.in(), room / vectors); ++channels) {
      // Sums, the gradients that meet one pixel of x, and that pixel.
      const int64_t held = p.taps * vectors * (channels + 1) + 1;
      if (held > target.vector_registers && vectors * channels > 1) continue;
      const double reads = ReadsOf(p, vectors, channels);
      if (least > 0 && reads >= least) continue;
      least = reads;
      p.contraction.vectors = static_cast<int>(vectors);
      p.channels = channels;
    }
  }
}

// Sums of blocks of all of a unit's steps stay in L2 beside the operands.
void ChooseUnit(const TargetInfo& target, GroupedFilterTiling& p) {
  const int64_t steps = p.steps();
  const int64_t blocks = p.lanes.SharesChannels() ? 1 : p.channel_blocks();
  const int64_t bytes = 2 * p.taps * p.channels * blocks * p.contraction.vectors *
                        p.contraction.lanes * ir::DTypeBytes(p.contraction.accumulator);
  const int64_t most = std::max<int64_t>(target.l2_bytes / 4 / std::max<int64_t>(bytes, 1), 1);
  const int64_t panels = p.lanes.Panels(p.contraction.vectors);
  const int64_t parts = std::max({CeilDiv(steps, most), CeilDiv(kEnoughUnits, panels), int64_t{1}});
  p.unit_steps = std::max<int64_t>(CeilDiv(steps, parts), 1);
}

}  // namespace

absl::StatusOr<GroupedFilterTiling> TileGroupedFilter(const Node& fusion,
                                                      const target::Schedule* schedule,
                                                      const TargetInfo& target) {
  const Node* root = ops::FindContraction(fusion.region());
  if (root == nullptr || root->op() != ir::Op::kConvolution) {
    return Unimplemented("not a convolution of groups");
  }
  GroupedFilterTiling p;
  ContractionTiling& plan = p.contraction;
  TEKTITE_RETURN_IF_ERROR(TakeOperands(*root, target, &plan));
  if (!ir::IsFloat(plan.dtype)) return Unimplemented(root->Describe(), ": a filter of bytes");
  plan.is_convolution = plan.is_filter_gradient = true;
  TEKTITE_RETURN_IF_ERROR(ReadGeometry(*root, plan.lanes, p));
  plan.m = p.y.taps * p.x.taps * p.lanes.in();
  plan.n = p.lanes.features();
  plan.k = p.images * p.y.out * p.x.out;
  plan.has_aligned_vectors = p.lanes.IsAligned();
  if (schedule != nullptr) {
    TEKTITE_RETURN_IF_ERROR(TakeTile(fusion, *schedule, plan));
    p.channels = plan.rows;
    p.pixels = schedule->blocks.pixels;
    p.unit_steps = schedule->blocks.steps;
    p.taps = schedule->blocks.taps;
    return p;
  }
  ++TilingCounts::tiles;
  ChooseStep(target, p);
  plan.rows = static_cast<int>(p.channels);
  ChooseUnit(target, p);
  return p;
}

}  // namespace tektite::cpu
