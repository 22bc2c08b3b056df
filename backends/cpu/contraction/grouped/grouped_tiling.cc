#include "backends/cpu/contraction/grouped/grouped_tiling.h"

#include <algorithm>

#include "backends/cpu/contraction/contraction_tiles.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using ir::Node;
using target::TargetInfo;

// The assumed width, where it is not known, for the choice of a part's size.
constexpr int64_t kUsualWidth = 56;
// Multiply-adds of a part in a row of the kernel, one after the other in the code.
constexpr int64_t kMostProducts = 512;
// Terms of a sum of bytes, which is exact in f32: 255 * 128 each, 2^24 together.
constexpr int64_t kMostBytes = 512;
// A row of pixels that is computed at once: so many pixels and vectors.
struct Part {
  int64_t vectors, pixels;
};

// Chooses a part with as many accumulators as there are registers beside what they are computed
// from.
class PartChoice {
 public:
  PartChoice(const TargetInfo& target, const ConvolutionGeometry& g, const GroupLanes& lanes)
      : registers_(target.vector_registers), g_(g), lanes_(lanes) {}

  Part Best() const {
    const int64_t width = std::max<int64_t>(g_.out_width.value_or(kUsualWidth), 1);
    const int64_t needed = lanes_.vectors();
    const int64_t room =
        std::max<int64_t>(std::min(registers_ - g_.kernel_width - 2, registers_ * 3 / 4), 1);
    Part best = {1, 1};
    double least = 0;
    for (int64_t vectors = std::min<int64_t>(needed, 4); vectors >= 1; --vectors) {
      for (int64_t pixels = std::min(std::max<int64_t>(room / vectors, 1), width); pixels >= 1;
           --pixels) {
        if (pixels > 1 && Products({vectors, pixels}) > kMostProducts) continue;
        double cost = static_cast<double>(width / pixels) * Cost({vectors, pixels});
        if (width % pixels > 0) cost += Cost({vectors, width % pixels}) + RestCost();
        cost *= static_cast<double>(CeilDiv(needed, vectors));
        if (least > 0 && cost >= least) continue;
        least = cost;
        best = {vectors, pixels};
      }
    }
    return best;
  }

 private:
  int64_t Columns(const Part& part) const {
    return std::min((part.pixels - 1) * g_.stride_w + (g_.kernel_width - 1) * g_.dilation_w + 1,
                    part.pixels * g_.kernel_width);
  }
  int64_t Products(const Part& part) const {
    return part.vectors * part.pixels * g_.kernel_width *
           (lanes_.SharesChannels() ? 1 : lanes_.in());
  }

  // Half-cycles: two multiply-adds and two loads start in each cycle, and a sum waits four for the
  // one before it.
  double Cost(const Part& part) const {
    const int64_t in = lanes_.in(), sums = part.vectors * part.pixels;
    const int64_t steps = g_.kernel_width * in;  // of a sum
    int64_t loads = 0, others = 0;
    if (lanes_.SharesChannels()) {
      const int64_t weights = part.vectors * g_.kernel_width;
      const bool fits = sums + weights + 1 <= registers_;
      loads = in * (Columns(part) + (fits ? weights : weights * part.pixels));
    } else {
      const int64_t inputs = Columns(part) * lanes_.windows();
      const bool fits = sums + inputs + g_.kernel_width + 1 <= registers_;
      loads = part.vectors * (inputs * (fits ? 1 : in) + steps);
      // Shuffles, and what finds no register beside them, take their share of the units.
      if (!lanes_.IsDepthwise()) others = part.vectors * inputs * in / (fits ? 2 : 1);
    }
    constexpr int64_t kLatency = 8, kEntry = 30;
    const int64_t work = std::max(sums * steps + others, loads);
    return static_cast<double>(g_.kernel_height * std::max(work, steps * kLatency) + kEntry);
  }

  // Of code for what is left of a row.  (28x28x128 in groups of 4 with 1x1 taps on a Zen 4 core:
  // parts of 2 x 7 take 9.3 us, of 4 x 6 19.)
  double RestCost() const { return lanes_.IsDepthwise() ? 0 : 120; }

  const int64_t registers_;
  const ConvolutionGeometry& g_;
  const GroupLanes& lanes_;
};

}  // namespace

absl::Status TakeOperands(const Node& root, const TargetInfo& target, ContractionTiling* plan) {
  plan->root = &root;
  plan->lhs_dtype = root.operand_shape(0).dtype();
  plan->dtype = root.operand_shape(1).dtype();
  plan->accumulator = root.shape().dtype();
  const bool are_bytes = plan->dtype == ir::DType::kS8 && plan->accumulator == ir::DType::kS32;
  if (!are_bytes && (root.attrs().Has(ir::Attr::dtype) || !ir::IsFloat(plan->dtype))) {
    return Unimplemented(root.Describe(), ": groups in ", ir::DTypeName(plan->dtype));
  }
  if (root.operand(0).node->op() != ir::Op::kParameter ||
      root.operand(1).node->op() != ir::Op::kParameter) {
    return Unimplemented(root.Describe(), ": an operand is not in memory");
  }
  if (ir::DTypeBytes(plan->dtype) <= 2) plan->accumulator = ir::DType::kF32;
  plan->lanes = target.lanes(ir::DTypeBytes(plan->accumulator));
  return absl::OkStatus();
}

absl::StatusOr<GroupedTiling> TileGrouped(const Node& fusion, const target::Schedule* schedule,
                                          const TargetInfo& target) {
  const Node* root = ops::FindContraction(fusion.region());
  if (root == nullptr || root->op() != ir::Op::kConvolution) {
    return Unimplemented("not a convolution of groups");
  }
  TEKTITE_ASSIGN_OR_RETURN(ops::ConvDims dims,
                           ops::GetConvDims(root->operand_shape(0).rank(), root->attrs()));
  const int64_t groups = dims.feature_groups;
  if (groups == 1 || dims.batch_groups != 1) {
    return Unimplemented(root->Describe(), ": no groups of features");
  }
  GroupedTiling grouped;
  ContractionTiling& plan = grouped.contraction;
  TEKTITE_ASSIGN_OR_RETURN(plan.conv, GeometryOf(*root, dims));
  if (dims.spatial > 2) return Unimplemented(root->Describe(), ": groups in a volume");
  const int64_t channels = plan.conv.channels, features = root->shape().dims().back().value_or(0);
  if (features < groups || channels < groups) {
    return Unimplemented(root->Describe(), ": groups of nothing");
  }
  TEKTITE_RETURN_IF_ERROR(TakeOperands(*root, target, &plan));
  grouped.lanes = GroupLanes(groups, channels / groups, features / groups, plan.lanes);
  plan.is_convolution = true;
  plan.batch = root->operand_shape(0).dim(0);
  plan.m = plan.conv.out_height * plan.conv.out_width;
  plan.n = features;
  plan.k = plan.conv.kernel_height * plan.conv.kernel_width * grouped.lanes.in();
  if (plan.dtype == ir::DType::kS8 && plan.k.value() > kMostBytes) {
    return Unimplemented(root->Describe(), ": sums of bytes that f32 would round");
  }
  plan.has_aligned_vectors = grouped.lanes.IsAligned();
  if (schedule != nullptr) {
    TEKTITE_RETURN_IF_ERROR(TakeTile(fusion, *schedule, plan));
    return grouped;
  }
  const Part part = PartChoice(target, plan.conv, grouped.lanes).Best();
  ++TilingCounts::tiles;
  plan.vectors = static_cast<int>(part.vectors);
  plan.rows = static_cast<int>(part.pixels);
  return grouped;
}

}  // namespace tektite::cpu
