#include "backends/cpu/contraction/packing/image_prefetch.h"

#include "jit/base/rounding.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using loop::Value;

}  // namespace

ImagePrefetch::ImagePrefetch(const ContractionPlan& plan) {
  if (!plan.is_convolution || !plan.conv.padded() || !plan.conv.reads_one_slice()) return;
  const ConvolutionGeometry& g = plan.conv;
  const Dim bytes =
      plan.image_rows * Dim(g.stride_h * g.channels) * g.width * Dim(ir::DTypeBytes(plan.dtype));
  const bool known = bytes.is_constant() && plan.m.is_constant();
  if (!known || plan.blocked_k_loops > 0 || plan.m_blocks() == Dim(1)) return;
  const int64_t tiles = CeilDiv(plan.block_rows, plan.rows).value();
  lines_ = CeilDiv(CeilDiv(bytes.value(), kLineBytes), tiles * plan.block_panels.value());
}

void ImagePrefetch::EnterBlock(loop::Builder& b, const ContractionPlan& plan, Value image,
                               Value in_row) {
  if (lines_ == 0) return;
  const ConvolutionGeometry& g = plan.conv;
  // The last block asks for its own rows again.
  Value unread = b.Add(in_row, b.Index(g.input_rows(plan.image_rows) - Dim(g.pad_top)));
  Value row = b.Select(b.Compare("lt", unread, b.Index(g.height)), unread, in_row);
  next_rows_ = b.Offset(image, plan.dtype, b.Mul(row, b.Index(g.width * Dim(g.channels))));
}

void ImagePrefetch::Emit(loop::Builder& b, const ContractionPlan& plan, const RowTile& tile,
                         Value panel) const {
  if (lines_ == 0) return;
  const int64_t line = kLineBytes / ir::DTypeBytes(plan.dtype);
  Value first_tile =
      b.Mul(b.Rem(panel, b.Index(plan.block_panels)), b.Index(CeilDiv(plan.block_rows, plan.rows)));
  Value share = b.Add(first_tile, b.Div(tile.first, b.Index(plan.rows)));
  Value first = b.Mul(share, b.Index(lines_ * line));
  for (int64_t i = 0; i < lines_; ++i) {
    b.Prefetch(next_rows_, plan.dtype, b.Add(first, b.Index(i * line)));
  }
}

}  // namespace tektite::cpu
