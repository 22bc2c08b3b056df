#include <algorithm>

#include "backends/gpu/emit/attention/warpgroup_attention.h"
#include "backends/gpu/emit/contraction/contraction_sizes.h"
#include "backends/gpu/emit/contraction/warpgroup_contraction.h"
#include "backends/gpu/emit/names.h"
#include "jit/llvm/warpgroup.h"

namespace tektite::gpu {

namespace {

constexpr int64_t kElementBytes = 2;
// Keys of a step.  The scores of the long one are 64 registers, the context of a wide head as many.
constexpr int64_t kLongStep = 128, kShortStep = 64;
// A block of fewer rows would be half empty; fewer keys are over before the copies are under way.
constexpr int64_t kFewestRows = 64, kFewestKeys = 128;
// All of them have one, but for the tiles: those of Q, K and V.
constexpr int64_t kSignals = 2 + 4 * kAttentionStages;

// `batch`, `rows`: the operand's dimensions, in the order of their indices.  None where the rows
// are not neighbours, or a row is not the last dimension.
std::optional<HeadTensor> TensorOf(ir::Value operand, const std::vector<int64_t>& batch,
                                   const std::vector<int64_t>& rows, int64_t width) {
  const Dims& dims = operand.shape().dims();
  const auto rank = static_cast<int64_t>(dims.size());
  if (operand.node->op() != ir::Op::kParameter || rows.empty() || width != rank - 1) {
    return std::nullopt;
  }
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i] != rows[0] + static_cast<int64_t>(i)) return std::nullopt;
  }
  HeadTensor tensor{
      static_cast<int>(operand.node->Int(ir::Attr::index)), Dim(1), Dim(1), Dim(1), {}};
  tensor.batch.resize(batch.size());
  for (int64_t d = rank; d-- > 0;) {
    const Dim& size = dims[static_cast<size_t>(d)];
    const bool is_outer = d < rows[0];
    Dim& whole = is_outer ? tensor.outer : d <= rows.back() ? tensor.rows : tensor.inner;
    const auto at = std::find(batch.begin(), batch.end(), d);
    if (at != batch.end())
      tensor.batch[static_cast<size_t>(at - batch.begin())] = {is_outer, whole};
    whole = whole * size;
  }
  return tensor;
}

// Whether the rule is for warpgroups.
bool FillsTheCard(const AttentionView& view) {
  const Dim blocks = view.batch() * CeilDiv(view.rows(), kAttentionRows);
  return view.rows().value_or(kUsual) > kFewestRows &&
         view.keys().value_or(kUsual) >= kFewestKeys &&
         blocks.value_or(kManyBlocks) >= kManyBlocks / 2;
}

bool IsWidth(int64_t width) { return width == 64 || width == 128; }

}  // namespace

int64_t WarpgroupAttentionTiling::SharedBytes(int64_t width, int64_t columns) const {
  const int64_t tiles = kAttentionRows * width + kAttentionStages * keys * (width + columns);
  const int64_t staged = kAttentionRows * (columns + kStagedPadding);
  return (tiles + staged) * kElementBytes + kSignals * loop::kSignalBytes;
}

std::optional<WarpgroupAttentionTiling> WarpgroupAttentionTiling::Of(const AttentionView& view,
                                                                     absl::string_view way,
                                                                     const EmitOptions& options) {
  const DType dtype = view.dtype();
  if (options.warpgroups == Warpgroups::kNever || way == kWarpMatrices ||
      (dtype != DType::kF16 && dtype != DType::kBF16) || !IsWidth(view.width()) ||
      !IsWidth(view.columns())) {
    return std::nullopt;
  }
  const bool is_asked = way == kWarpgroupAttention || options.warpgroups == Warpgroups::kAlways;
  if (!is_asked && !FillsTheCard(view)) return std::nullopt;
  const ir::Node &scores = *view.nodes().scores, &context = *view.nodes().context;
  const ops::DotDims first = ops::GetDotDims(scores), second = ops::GetDotDims(context);
  const auto query =
      TensorOf(scores.operand(0), first.lhs_batch, first.lhs_free, first.lhs_contracting[0]);
  const auto key =
      TensorOf(scores.operand(1), first.rhs_batch, first.rhs_free, first.rhs_contracting[0]);
  const auto value = second.rhs_free.size() == 1
                         ? TensorOf(context.operand(1), second.rhs_batch, second.rhs_contracting,
                                    second.rhs_free[0])
                         : std::nullopt;
  if (!query.has_value() || !key.has_value() || !value.has_value()) return std::nullopt;
  const bool is_short = view.keys().value_or(kUsual) <= kShortStep;
  WarpgroupAttentionTiling plan{*query, *key, *value, is_short ? kShortStep : kLongStep};
  const int64_t bytes = plan.SharedBytes(view.width(), view.columns()) +
                        CausalSkip::SharedBytes(kAttentionRows / loop::kMatrixRows);
  if (bytes > options.shared_bytes) return std::nullopt;
  return plan;
}

std::vector<const char*> OtherAttentionWays(const ir::Node& fusion, const EmitOptions& options) {
  const absl::StatusOr<AttentionView> view = AttentionView::Create(fusion.region());
  if (!view.ok() ||
      !WarpgroupAttentionTiling::Of(*view, kWarpgroupAttention, options).has_value()) {
    return {};
  }
  if (WarpgroupAttentionTiling::Of(*view, "", options).has_value()) return {kWarpMatrices};
  if (view->rows().value_or(kUsual) < kFewestRows) return {};
  return {kWarpgroupAttention};
}

}  // namespace tektite::gpu
