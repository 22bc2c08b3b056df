#include "backends/cpu/contraction/packing/packing_tile.h"

#include <utility>

#include "backends/cpu/contraction/contraction_tiles.h"
#include "backends/cpu/contraction/packing/panel_packing.h"

namespace tektite::cpu {

using ir::Dim;
using loop::Value;

namespace {

// Rows between the one that is read and the one that is asked for: a row takes 16 to 24 cycles.
constexpr int64_t kFetchedAhead = 32;

// Whether no chunk has fewer rows than a tile.
bool HasWholeTiles(const ContractionTiling& plan) {
  if (!plan.m.is_constant() || !plan.block_rows.is_constant()) return false;
  const int64_t rows = plan.block_rows.value(), last = plan.m.value() % rows;
  return rows >= plan.rows && plan.m.value() >= rows && (last == 0 || last >= plan.rows);
}

}  // namespace

bool FirstTilePacks(const ContractionTiling& plan) {
  return plan.rhs == RhsMode::kPackInKernel && HasContiguousColumns(plan) && !plan.packed_rows &&
         plan.blocked_k_loops == 0 && plan.k_loops.size() == 1 && plan.k.is_constant() &&
         plan.n.is_constant() && !plan.reads_pairs && !SharesLastVector(plan) &&
         HasWholeTiles(plan);
}

PackingTile::PackingTile(loop::Builder& b, const ContractionTiling& plan, Value rhs, Value column,
                         Value panel, std::vector<Value> masks)
    : b_(b),
      plan_(plan),
      source_(b.Offset(rhs, plan.dtype, b.Mul(column, b.Index(plan.rhs_n_stride)))),
      panel_(panel),
      masks_(std::move(masks)) {}

std::vector<Value> PackingTile::PanelRow(Value k, Value panel_offset) const {
  const Value from = b_.Mul(k, b_.Index(plan_.k_loops[0].rhs_stride));
  std::vector<Value> row;
  for (int v = 0; v < plan_.vectors; ++v) {
    const Value column = b_.Index(int64_t{v} * plan_.lanes);
    const Value x = b_.Load(source_, plan_.dtype, b_.Add(from, column), plan_.lanes, masks_[v]);
    b_.Store(panel_, b_.Add(panel_offset, column), x);
    row.push_back(x);
  }
  return row;
}

void PackingTile::Fetch(Value k, int64_t steps) const {
  const Value trips = b_.Index(plan_.k), stride = b_.Index(plan_.k_loops[0].rhs_stride);
  const Value ahead = b_.Add(k, b_.Index(kFetchedAhead));
  const Value is_here = b_.Compare("lt", ahead, trips);
  // The first rows of the next panel follow those of this one.
  const Value row = b_.Select(is_here, ahead, b_.Sub(ahead, trips));
  const Value first =
      b_.Add(b_.Mul(row, stride), b_.Select(is_here, b_.Index(0), b_.Index(plan_.panel())));
  const int64_t line = kLineBytes / ir::DTypeBytes(plan_.dtype);
  for (int64_t s = 0; s < steps; ++s) {
    const Value at = b_.Add(first, b_.Index(Dim(s) * plan_.k_loops[0].rhs_stride));
    for (int64_t i = 0; i < plan_.panel(); i += line) {
      b_.Prefetch(source_, plan_.dtype, b_.Add(at, b_.Index(i)), loop::Builder::Cache::kSecond);
    }
  }
}

}  // namespace tektite::cpu
