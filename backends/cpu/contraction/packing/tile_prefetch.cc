#include "backends/cpu/contraction/packing/tile_prefetch.h"

#include <algorithm>

#include "jit/base/rounding.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using loop::Value;

// Steps of k that give what is asked for at a tile's start the time to come.
constexpr int64_t kStepsToFetch = 16;
// Steps of k that are enough to fetch a row of the tile after the other.  All at once fill the
// queues of the core, and the tile waits for them: [1024,256] x [256,1024] with three arrays of 4
// MB in its epilogue took 6.4 ms instead of 5.1 (Zen 4, without epilogue 5.0).  A single result:
// [3136,64] x [64,256] 0.96 ms instead of 1.07, [1024,128] x [128,1024] 2.50 instead of 2.66.
constexpr int64_t kStepsToFetchByRow = 64;

// Row m of the left-hand side is k elements behind row m - 1.
bool HasContiguousRows(const ContractionTiling& plan) {
  if (plan.is_filter_gradient || plan.packed_rows || plan.blocked_k_loops > 0 ||
      plan.k_loops.size() != 1 || plan.k_loops[0].lhs_stride != Dim(1)) {
    return false;
  }
  const ConvolutionGeometry& g = plan.conv;
  return plan.is_convolution
             ? g.stride_h == 1 && g.stride_w == 1 && !g.padded() && plan.k == Dim(g.channels)
             : plan.m_loops.size() == 1 && plan.m_loops[0].lhs_stride == plan.k;
}

}  // namespace

RowPrefetch::RowPrefetch(const ContractionTiling& plan, const target::TargetInfo& target) {
  if (!HasContiguousRows(plan) || !plan.k.is_constant()) return;
  const int64_t row_bytes = plan.k.value() * ir::DTypeBytes(plan.dtype);
  const int64_t rows = (plan.batch * plan.m).value_or(0);
  // [4096, 512] x [512, 256], tiles of 24 KB: 112 GFLOP/s became 115.  1024 x 1024 x 1024, 48 KB:
  // 104 became 101.
  const bool fits = plan.rows * row_bytes <= target.l1_bytes / 4 * 3;
  if (!fits || rows * row_bytes <= target.l2_bytes / 2) return;
  lines_ = CeilDiv(plan.rows * row_bytes, kLineBytes);
}

void RowPrefetch::EnterTile(loop::Builder& b, const ContractionTiling& plan, Value lhs,
                            Value first) {
  if (lines_ == 0) return;
  next_ = b.Offset(lhs, plan.dtype, b.Mul(b.Add(first, b.Index(plan.rows)), b.Index(plan.k)));
}

void RowPrefetch::Emit(loop::Builder& b, const ContractionTiling& plan, Value k,
                       int64_t steps) const {
  if (lines_ == 0) return;
  const int64_t line = kLineBytes / ir::DTypeBytes(plan.dtype);
  const int64_t of_steps = CeilDiv(lines_ * steps, plan.k.value());
  const Value first = b.Mul(b.Div(k, b.Index(steps)), b.Index(of_steps * line));
  for (int64_t i = 0; i < of_steps; ++i) {
    b.Prefetch(next_, plan.dtype, b.Add(first, b.Index(i * line)));
  }
}

PiecePrefetch::PiecePrefetch(const ContractionTiling& plan) {
  if (plan.rhs != RhsMode::kPacked || !plan.k.is_constant() || !plan.n.is_constant()) return;
  int64_t piece = 1;
  for (size_t i = plan.blocked_k_loops; i < plan.k_loops.size(); ++i) {
    piece *= plan.k_loops[i].trips.value();
  }
  piece_elements_ = piece * plan.panel();
  if (plan.k.value() * plan.n.value() * ir::DTypeBytes(plan.dtype) <= kStreamedBytes) return;
  const Dim tiles = FloorDiv(Min(plan.block_rows, plan.m), plan.rows);
  tiles_ = tiles.Substitute(UsualSizes(plan)).value();
}

void PiecePrefetch::Emit(loop::Builder& b, const ContractionTiling& plan, Value tile,
                         const Place& place, int64_t steps) const {
  if (tiles_ < 2) return;
  const int64_t lines = CeilDiv(steps * plan.vectors, tiles_);
  // Tile t takes lines t * lines ... of the steps' share, spread evenly over the piece.
  const Value share = b.Mul(tile, b.Index(lines * plan.lanes));
  for (int64_t i = 0; i < lines; ++i) {
    const Value next = b.Index(piece_elements_ + i * plan.lanes);
    b.Prefetch(place.rhs, plan.dtype, b.Add(b.Add(place.offset, share), next));
  }
}

EpiloguePrefetch::EpiloguePrefetch(Epilogue* epilogue, const ContractionTiling& plan,
                                   int64_t l2_bytes) {
  const int64_t k = plan.k.value_or(0);
  if (k < kStepsToFetch || plan.blocked_k_loops > 0 || !epilogue->ChoosePrefetch(l2_bytes)) return;
  epilogue_ = epilogue;
  row_by_row_ = plan.k_loops.size() == 1 && k >= kStepsToFetchByRow;
}

void EpiloguePrefetch::EnterTile(loop::Builder& b, Value batch, const RowTile& tile, Value column) {
  if (epilogue_ == nullptr) return;
  place_ = epilogue_->PlaceOf(b, batch, tile, column);
  rows_ = row_by_row_ ? tile.rows : 0;
  if (row_by_row_) return;
  for (int r = 0; r < tile.rows; ++r) epilogue_->Prefetch(b, place_, b.Index(r));
}

void EpiloguePrefetch::Emit(loop::Builder& b, const ContractionTiling& plan, Value k,
                            int64_t steps) const {
  if (rows_ == 0) return;
  // The last quarter of the way is for the last row's lines to come.
  const int64_t fetching = plan.k.value() / 4 * 3;
  const int64_t each = std::max(fetching / rows_ / steps, int64_t{1}) * steps;
  const Value row = b.Min(b.Div(k, b.Index(each)), b.Index(rows_ - 1));
  epilogue_->Prefetch(b, place_, row);
}

}  // namespace tektite::cpu
