#include "backends/cpu/attention/attention_tiling.h"

#include <algorithm>

#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/emit/chunking.h"
#include "backends/cpu/emit/names.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

// Keys that are taken in one block although they are more than usual_keys: a second block would
// cost more than the longer strip.
constexpr int64_t kMostKeysInOneBlock = 384;
constexpr int64_t kUsualKeys = 256;
// A strip of scores shares L1 with a panel of keys or values.
constexpr int64_t kStripBytes = 24 << 10;
constexpr int64_t kMostTilesInStrip = 4;
// Tiles of rows up to which values are read in place.
constexpr int64_t kMostTilesInPlace = 2;
// Units of work to have, as long as blocks of rows have kFewestRows.
constexpr int64_t kWantedUnits = 6;
constexpr int64_t kFewestRows = 48, kMostRows = 256;
// A vector of exp and what surrounds it.
constexpr double kExpCycles = 20;

int ParameterOf(ir::Value v) {
  return v.node->op() == Op::kParameter ? static_cast<int>(v.node->Int(Attr::index)) : -1;
}

absl::Status FindNodes(const ir::Graph& region, AttentionTiling& plan) {
  TEKTITE_ASSIGN_OR_RETURN(plan.nodes, ops::AttentionOf(region));
  const ops::Attention& a = plan.nodes;
  plan.query = ParameterOf(a.scores->operand(0));
  plan.key = ParameterOf(a.scores->operand(1));
  plan.value = ParameterOf(a.context->operand(1));
  if (plan.query < 0 || plan.key < 0 || plan.value < 0) {
    return Unimplemented(a.context->Describe(), ": an operand is not in memory");
  }
  return absl::OkStatus();
}

absl::Status FindAddresses(AttentionTiling& plan) {
  const Node &scores = *plan.nodes.scores, &context = *plan.nodes.context;
  const ops::ContractionAxes s = ops::GetDotAxes(scores), c = ops::GetDotAxes(context);
  const Dims& space = scores.shape().dims();
  for (size_t i = 0; i < s.batch.size(); ++i) {
    const ops::ContractionAxis& axis = s.batch[i];
    plan.batch_loops.push_back({space[i], axis.lhs_stride, axis.rhs_stride, c.batch[i].rhs_stride});
    plan.batch = plan.batch * space[i];
  }
  for (const ops::ContractionAxis& axis : s.m) {
    plan.row_loops.push_back({axis.size, axis.lhs_stride, 0, 0});
  }
  plan.rows = SizeOf(s.m);
  plan.keys = space.back();
  const Dim &width = s.k[0].size, &columns = c.n[0].size;
  if (!width.is_constant() || !columns.is_constant() || width.value() < 1 || columns.value() < 1) {
    return Unimplemented(context.Describe(), ": widths are not known");
  }
  plan.width = width.value();
  plan.columns = columns.value();
  plan.query_width_stride = s.k[0].lhs_stride;
  plan.key_stride = s.n[0].rhs_stride;
  plan.key_width_stride = s.k[0].rhs_stride;
  plan.value_stride = c.k[0].rhs_stride;
  plan.value_column_stride = c.n[0].rhs_stride;
  return absl::OkStatus();
}

void ChooseTile(AttentionTiling& plan, const target::TargetInfo& target) {
  plan.lanes = target.lanes(4);
  plan.vectors = 2;
  const int most = (target.vector_registers >= 32 ? 24 : 12) / plan.vectors;
  plan.tile_rows = most;
  if (!plan.rows.is_constant()) return;
  // Rows that divide the extent leave no ragged tile; each tile costs some rows on top.
  const int64_t rows = std::max<int64_t>(plan.rows.value(), 1);
  double best = 1e9;
  for (int tile = most; tile >= std::max(1, most * 2 / 3); --tile) {
    const double waste = static_cast<double>(RoundUp(rows, tile) / tile) * (tile + 1.5);
    if (waste >= best) continue;
    best = waste;
    plan.tile_rows = static_cast<int>(std::min<int64_t>(tile, rows));
  }
}

void ChooseKeyBlock(AttentionTiling& plan, const target::TargetInfo& target) {
  // A block's keys and values, packed, take a third of L2 at most; of one tile of rows, its scores
  // two thirds of L1 at most.
  const int64_t key_bytes =
      4 * (RoundUp(plan.width, plan.lanes) + RoundUp(plan.columns, plan.lanes));
  const bool one_tile = plan.values_in_place && plan.rows.value() <= plan.tile_rows;
  const int64_t fit_bytes = one_tile ? kStripBytes * 4 / 3 : target.l2_bytes / 3;
  const int64_t fit_keys = fit_bytes / (one_tile ? 4 * plan.tile_rows : key_bytes);
  const int64_t fit = std::max(fit_keys / plan.panel(), int64_t{1}) * plan.panel();
  const int64_t usual = one_tile ? fit : std::min(fit, kUsualKeys);
  plan.key_block = usual;
  if (!plan.keys.is_constant()) return;
  const int64_t keys = std::max<int64_t>(plan.keys.value(), 1);
  plan.one_block = keys <= std::max(usual, std::min(fit, kMostKeysInOneBlock));
  const int64_t blocks = plan.one_block ? 1 : CeilDiv(keys, usual);
  plan.key_block = RoundUp(CeilDiv(keys, blocks), plan.panel());
}

void ChooseRowBlock(AttentionTiling& plan) {
  int64_t tiles = kStripBytes / (plan.tile_rows * plan.key_block * 4);
  tiles = std::clamp<int64_t>(tiles, 1, kMostTilesInStrip);
  while (tiles * plan.tile_rows % AttentionTiling::kRowsAtOnce != 0) ++tiles;
  plan.strip_rows = tiles * plan.tile_rows;

  // Blocks of equal size, in whole tiles.
  const Dim wanted = CeilDiv(kWantedUnits, Max(plan.batch, 1));
  const Dim sensible = Max(FloorDiv(plan.rows, kFewestRows), 1);
  const Dim blocks = Max(Min(wanted, sensible), CeilDiv(plan.rows, kMostRows));
  plan.block_rows =
      Max(CeilDiv(CeilDiv(plan.rows, blocks), plan.tile_rows), 1) * Dim(plan.tile_rows);
  const int64_t most = std::clamp<int64_t>(plan.rows.value_or(kMostRows), 1, kMostRows);
  plan.most_rows = plan.block_rows.value_or(RoundUp(most, plan.tile_rows));
}

}  // namespace

absl::StatusOr<AttentionTiling> TileAttention(const Node& fusion,
                                              const target::TargetInfo& target) {
  AttentionTiling plan;
  TEKTITE_RETURN_IF_ERROR(FindNodes(fusion.region(), plan));
  TEKTITE_RETURN_IF_ERROR(FindAddresses(plan));
  ChooseTile(plan, target);
  const bool values_in_rows = plan.value_column_stride == Dim(1) && plan.columns % plan.lanes == 0;
  plan.values_in_place = values_in_rows && plan.rows.is_constant() &&
                         plan.rows.value() <= kMostTilesInPlace * plan.tile_rows;
  ChooseKeyBlock(plan, target);
  ChooseRowBlock(plan);
  if (plan.one_block && plan.rows.is_constant()) {
    plan.values_in_place = values_in_rows;
    // Rows an unknown distance apart would take a register each.
    plan.queries_in_place = plan.query_width_stride == Dim(1) && plan.row_loops.size() == 1 &&
                            plan.row_loops[0].query_stride.is_constant();
    plan.fetch_next = plan.keys != Dim(0) && plan.units() != Dim(1);
  }
  const Dim scores = plan.batch * plan.rows * plan.keys;
  plan.cost = Cost(scores, static_cast<double>(plan.width + plan.columns) /
                                   (target.vector_fmas_per_ns() * plan.lanes) +
                               target.ns(kExpCycles) / plan.lanes);
  return plan;
}

}  // namespace tektite::cpu
