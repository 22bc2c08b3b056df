#include "backends/cpu/contraction/filter_gradient_view.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "jit/base/lists.h"
#include "jit/base/status.h"
#include "jit/ops/contraction_axes.h"

namespace tektite::cpu {

using ir::Dim;
using ir::Node;

absl::Status ViewFilterGradient(const ops::ContractionAxes& axes, ContractionTiling& plan) {
  const Node& node = *plan.root;
  const ops::ConvDims& dims = *axes.convolution;
  if (!AllAre(dims.low, 0) || !AllAre(dims.high, 0) || !AllAre(dims.lhs_dilation, 1)) {
    return Unimplemented(node.Describe(), ": padding inside the gradient of a filter");
  }
  if (plan.rhs == RhsMode::kPacked) {
    return Unimplemented(node.Describe(), ": the gradient of a filter has no weights to pack");
  }
  plan.is_filter_gradient = true;
  plan.m = SizeOf(axes.m);
  plan.n = SizeOf(axes.n);
  plan.k = SizeOf(axes.k);
  // Channels are innermost in memory, and images outermost.
  std::vector<AddressLoop> m_loops = LoopsOf(axes.m), k_loops = LoopsOf(axes.k);
  std::rotate(m_loops.begin(), m_loops.begin() + 1, m_loops.end());
  std::rotate(k_loops.begin(), k_loops.end() - 1, k_loops.end());
  plan.m_loops = Merged(m_loops);
  plan.k_loops = Merged(k_loops);
  return absl::OkStatus();
}

void BlockPixels(ContractionTiling& plan, const target::TargetInfo& target) {
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
