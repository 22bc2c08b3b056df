#include "backends/cpu/contraction/filter_gradient_plan.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {

using ir::Dim;
using ir::Dims;
using ir::Node;

absl::Status PlanFilterGradient(ContractionPlan& plan) {
  const Node& node = *plan.root;
  TEKTITE_ASSIGN_OR_RETURN(ops::ConvDims dims,
                           ops::GetConvDims(node.operand_shape(0).rank(), node.attrs()));
  auto all_are = [](const std::vector<int64_t>& values, int64_t v) {
    return std::all_of(values.begin(), values.end(), [v](int64_t x) { return x == v; });
  };
  if (dims.batch_groups != 1 || dims.feature_groups != 1) {
    return Unimplemented(node.Describe(), ": grouped");
  }
  if (!all_are(dims.low, 0) || !all_are(dims.high, 0) || !all_are(dims.lhs_dilation, 1)) {
    return Unimplemented(node.Describe(), ": padding inside the gradient of a filter");
  }
  if (plan.rhs == RhsMode::kPacked) {
    return Unimplemented(node.Describe(), ": the gradient of a filter has no weights to pack");
  }
  const Dims &x = node.operand_shape(0).dims(), &dy = node.operand_shape(1).dims();
  const Dims x_strides = ir::RowMajorStrides(x), dy_strides = ir::RowMajorStrides(dy);
  plan.is_filter_gradient = true;
  plan.k_loops.push_back({x[0], x_strides[0], dy_strides[0]});
  for (int i = 0; i < dims.spatial; ++i) {
    plan.m_loops.push_back({node.shape().dim(i), Dim(dims.strides[i]) * x_strides[1 + i], 0});
    plan.k_loops.push_back(
        {dy[1 + i], Dim(dims.rhs_dilation[i]) * x_strides[1 + i], dy_strides[1 + i]});
  }
  plan.m_loops.push_back({x.back(), 1, 0});
  plan.m = Trips(plan.m_loops);
  plan.k = Trips(plan.k_loops);
  plan.n = dy.back();
  plan.m_loops = Merged(plan.m_loops);
  plan.k_loops = Merged(plan.k_loops);
  return absl::OkStatus();
}

void BlockPixels(ContractionPlan& plan, const target::TargetInfo& target) {
  constexpr int64_t kLeastSteps = 32;  // of a tile, to be worth loading and storing its sums
  const int64_t most = target.l2_bytes / 4 / (plan.panel() * ir::DTypeBytes(plan.dtype));
  const int loops = static_cast<int>(plan.k_loops.size());
  int64_t steps = 1;
  int inside = 0;
  for (; inside < loops; ++inside) {
    const Dim& trips = plan.k_loops[loops - 1 - inside].trips;
    if (!trips.is_constant() && inside + 1 == loops && loops > 1) break;  // images
    if (steps >= kLeastSteps && steps * trips.value_or(1) > most) break;
    steps *= std::max<int64_t>(trips.value_or(1), 1);
  }
  plan.blocked_k_loops = loops - std::max(inside, 1);
}

}  // namespace tektite::cpu
