#include "backends/cpu/contraction/packing/packed_rows.h"

#include <algorithm>

#include "backends/cpu/contraction/contraction_tiles.h"
#include "backends/cpu/contraction/packing/panel_packing.h"
#include "jit/base/rounding.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using loop::Value;

constexpr int64_t kLongestPiece = 256, kShortestPiece = 128;
constexpr int64_t kMostRows = 128;  // of a chunk: a piece of them takes a quarter of L2
// Panels of a chunk: packing a piece of rows takes a seventh of the time of one panel.
constexpr int64_t kMostPanels = 4;
// For teams of up to eight threads.
constexpr int64_t kLeastChunks = 8;

// The longest piece that divides k; 0 if there is none worth it.
int64_t PieceOf(int64_t k) {
  for (int64_t parts = CeilDiv(k, kLongestPiece); k / parts >= kShortestPiece; ++parts) {
    if (k % parts == 0) return k / parts;
  }
  return 0;
}

bool IsCandidate(const ContractionTiling& plan) {
  if (plan.lhs_dtype != plan.dtype || plan.rhs != RhsMode::kPackInKernel || plan.is_convolution ||
      plan.is_filter_gradient || !plan.m.is_constant() || !plan.n.is_constant() ||
      plan.k_loops.size() != 1 || plan.m_loops.size() != 1 || plan.rhs_n_stride != Dim(1)) {
    return false;
  }
  const AddressLoop &m = plan.m_loops[0], &k = plan.k_loops[0];
  return m.lhs_stride == Dim(1) && k.lhs_stride != Dim(1) && k.trips.is_constant() &&
         !SharesLastVector(plan) && plan.m.value() >= 4 * plan.rows &&
         plan.rows * plan.vectors >= kEnoughAccumulators;
}

}  // namespace

bool ChoosePackedRows(ContractionTiling& plan, const target::TargetInfo& target) {
  if (!IsCandidate(plan)) return false;
  const AddressLoop k = plan.k_loops[0];
  const int64_t m = plan.m.value(), panels = plan.panels().value();
  const int64_t bytes = ir::DTypeBytes(plan.dtype);
  // Of fewer steps a panel stays in L2: [1024, 256] x [1024, 1024] took 1.02 of the time.
  const bool is_long = k.trips.value() * plan.panel() * bytes > target.l2_bytes / 4;
  if (!is_long || panels == 0) return false;
  const int64_t piece = PieceOf(k.trips.value());
  if (piece == 0 || kMostRows * piece * bytes > target.l2_bytes / 2) return false;
  const int64_t panels_of_chunk = std::min(panels, kMostPanels);
  const int64_t columns_of_chunks = CeilDiv(panels, panels_of_chunk);
  int64_t rows = kMostRows;
  while (rows >= 8 * plan.rows && CeilDiv(m, rows) * columns_of_chunks < kLeastChunks) rows /= 2;
  const int64_t tiles = CeilDiv(m, plan.rows);
  const int64_t blocks = CeilDiv(tiles, std::max<int64_t>(rows / plan.rows, 1));
  plan.block_rows = CeilDiv(tiles, blocks) * plan.rows;
  plan.block_panels = CeilDiv(panels, columns_of_chunks);
  plan.k_loops = {
      {Dim(k.trips.value() / piece), k.lhs_stride * Dim(piece), k.rhs_stride * Dim(piece)},
      {Dim(piece), Dim(plan.rows), k.rhs_stride}};
  plan.blocked_k_loops = 1;
  plan.packed_rows = true;
  plan.unpacked_k_stride = k.lhs_stride;
  return true;
}

void PackRows(loop::Builder& b, const ContractionTiling& plan, const TiledRows& tiled, Value from,
              Value to) {
  const Dim piece = plan.k_loops.back().trips;
  const int64_t line = kLineBytes / ir::DTypeBytes(plan.dtype);
  b.For(b.Index(0), b.Index(piece), 1, [&](Value k) {
    Value row = b.Offset(from, plan.dtype, b.Mul(k, b.Index(plan.unpacked_k_stride)));
    Value column = b.Offset(to, plan.dtype, b.Mul(k, b.Index(plan.rows)));
    for (int64_t m = 0; m < plan.block_rows.value(); m += line) {
      b.Prefetch(row, plan.dtype, b.Index(Dim(kRowsAhead) * plan.unpacked_k_stride + Dim(m)));
    }
    ForEachTile(b, tiled, [&](const RowTile& tile) {
      Value x = b.Load(row, plan.dtype, tile.first, tile.rows);
      b.Store(column, b.Mul(tile.first, b.Index(piece)), x);
    });
  });
}

}  // namespace tektite::cpu
