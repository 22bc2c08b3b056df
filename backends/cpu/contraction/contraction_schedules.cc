#include "backends/cpu/contraction/contraction_schedules.h"

#include <utility>

#include "backends/cpu/contraction/contraction_tiles.h"
#include "backends/cpu/contraction/grouped/grouped_filter_tiling.h"
#include "backends/cpu/contraction/grouped/grouped_tiling.h"
#include "backends/cpu/contraction/pairs/pair_tiling.h"
#include "backends/cpu/contraction/winograd/winograd_tiling.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"
#include "jit/ir/column_groups.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using ir::Attr;
using ir::Dim;
using ir::Node;
using target::RhsLayout;
using target::Schedule;

// Packing weights takes as long as some three products of few rows, each of which then saves a
// third.
constexpr int64_t kRunsToPackFewRows = 8;

Schedule Of(const char* implementation) {
  Schedule schedule;
  schedule.implementation = implementation;
  return schedule;
}

// Vectors of a panel of a right-hand side that is streamed as it is.
int64_t StreamedInPlace(const ContractionTiling& view, int64_t rows, const Target& target) {
  return StreamsAlongK(view) ? 1 : StreamedVectors(view, rows, target);
}

// The columns of panels that a streamed product reads faster than weights as they are; 0: none.
int64_t StreamedColumns(const Question& q, const ContractionTiling& view) {
  const auto& packed = q.View(/*packed=*/true);
  if (!packed.ok() || !packed->n.is_constant() || !packed->k.is_constant()) return 0;
  const int64_t columns = packed->lanes * q.TileOf(/*packed=*/true).vectors;
  const int64_t n = packed->n.value(), bytes = packed->k.value() * n * ir::DTypeBytes(view.dtype);
  const int64_t padded = RoundUp(n, columns);
  const bool along_n = view.rhs_n_stride == Dim(1);
  const bool pays = along_n && bytes >= q.target.l2_bytes / 2 && padded <= n + n / 8;
  return pays ? columns : 0;
}

// Panels of the same columns of each group.
absl::StatusOr<Schedule> StreamGroups(const Question& q, int64_t groups) {
  const bool will_be = q.facts.rhs_is_weights && q.facts.runs >= kRunsToPackFewRows;
  if (!will_be && !q.fusion.attrs().Has(Attr::rhs_packed)) {
    return Unimplemented("columns in groups that are not packed for the call");
  }
  const auto& view = q.View(/*packed=*/true);
  TEKTITE_RETURN_IF_ERROR(view.status());
  if (Mod(view->n, groups * view->lanes) != Dim(0))
    return Unimplemented("groups of no whole vectors");
  const int64_t rows = view->m.value();
  Schedule schedule = Of(target::kStreamed);
  schedule.tile = {StreamedVectors(*view, rows, q.target, groups), rows};
  schedule.rhs.columns = view->lanes * schedule.tile.vectors;
  return schedule;
}

// Rows of weights that can lie two to a byte; 0: they cannot.
int64_t RowsInNibbles(const ContractionTiling& view) {
  const Node& root = *view.root;
  if (!root.attrs().Has(Attr::nibbles) || view.accumulator != ir::DType::kF32) return 0;
  const ops::DotDims dims = ops::GetDotDims(root);
  const bool is_matrix = root.operand_shape(1).rank() == 3 &&
                         dims.rhs_batch == std::vector<int64_t>{0} &&
                         dims.rhs_contracting == std::vector<int64_t>{1};
  const bool has_pairs =
      is_matrix && root.operand_shape(1).is_static() && view.k.value_or(1) % 2 == 0;
  return has_pairs && view.k_loops.size() == 1 && view.batch_loops.size() == 1 ? view.k.value() : 0;
}

// Vectors of the code for one row beside that for an unknown number of them; 0: there is none.
int64_t VectorsForOneRow(const Question& q) {
  const auto& view = q.View(/*packed=*/false);
  if (!view.ok() || view->m.is_constant() || !CheckStreamed(q.fusion, *view).ok()) return 0;
  return StreamedInPlace(*view, 1, q.target);
}

}  // namespace

bool Question::is_packed() const {
  return facts.rhs_is_weights || fusion.attrs().Has(Attr::rhs_packed);
}

const absl::StatusOr<ContractionTiling>& Question::View(bool packed) const {
  auto& view = views_[packed];
  if (!view) view = ViewContraction(fusion, target, packed);
  return *view;
}

target::Tile Question::TileOf(bool packed) const {
  auto& tile = tiles_[packed];
  if (!tile) tile = ChooseTile(*View(packed), target);
  return *tile;
}

absl::StatusOr<Schedule> FitsTiles(const Question& q) {
  if (HasPairs(q.fusion)) return Unimplemented("panels of pairs");
  if (q.fusion.attrs().Has(Attr::rhs_nibbles)) return Unimplemented("weights of two to a byte");
  // Weights that cannot be packed are read as they are.
  const bool packed = q.is_packed() && q.View().ok();
  TEKTITE_RETURN_IF_ERROR(q.View(packed).status());
  const ContractionTiling& view = *q.View(packed);
  Schedule schedule;
  schedule.tile = q.TileOf(packed);
  if (packed) {
    schedule.rhs.columns = view.lanes * schedule.tile.vectors;
    const int64_t columns = q.fusion.Int(Attr::rhs_packed, schedule.rhs.columns);
    if (columns != schedule.rhs.columns) return Unimplemented("panels of ", columns, " columns");
  } else {
    schedule.copies_rhs = CopiesRhs(view, schedule.tile);
    schedule.blocks.row_vectors = VectorsForOneRow(q);
  }
  return schedule;
}

absl::StatusOr<Schedule> FitsPairs(const Question& q) {
  if (q.fusion.attrs().Has(Attr::rhs_nibbles)) return Unimplemented("weights of two to a byte");
  Schedule schedule = Of(target::kPairs);
  for (const bool packed : {true, false}) {
    if (packed && !q.facts.rhs_is_weights && !HasPairs(q.fusion)) continue;
    const absl::StatusOr<PairTiling> plan = TilePairs(q.fusion, q.View(packed), nullptr, q.target);
    if (packed && !plan.ok()) continue;
    TEKTITE_RETURN_IF_ERROR(plan.status());
    schedule.tile = {plan->contraction.vectors, plan->contraction.rows};
    schedule.lhs_in_place = plan->lhs_in_place;
    schedule.blocks.piece = plan->piece;
    if (packed) {
      schedule.rhs.columns = plan->contraction.panel();
      (plan->word == 4 ? schedule.rhs.fours : schedule.rhs.pairs) = plan->words.value();
      if (plan->splits_f32) schedule.rhs.halves = plan->halves();
    }
    if (!packed) schedule.blocks.row_vectors = VectorsForOneRow(q);
    return schedule;
  }
  return Internal("no layout");
}

absl::StatusOr<Schedule> FitsStreamed(const Question& q) {
  const bool is_packed = q.fusion.attrs().Has(Attr::rhs_packed);
  TEKTITE_RETURN_IF_ERROR(q.View(is_packed).status());
  const ContractionTiling& view = *q.View(is_packed);
  TEKTITE_RETURN_IF_ERROR(CheckStreamed(q.fusion, view));
  if (!view.m.is_constant()) return Unimplemented("an unknown number of rows");
  if (view.dtype == ir::DType::kS8 && FitsPairs(q).ok()) {
    return Unimplemented("bytes that are multiplied in tiles");
  }
  const int64_t groups = ir::ColumnGroupsOf(*view.root).count;
  if (groups > 1) return StreamGroups(q, groups);
  Schedule schedule = Of(target::kStreamed);
  schedule.tile.rows = view.m.value();
  if (q.facts.rhs_is_weights) {
    RhsLayout& rhs = schedule.rhs;
    rhs.later = q.facts.runs < kRunsToPackFewRows;
    // Rows of k must be one stride apart in either layout.
    const bool reads_both = view.batch == Dim(1) && view.k_loops.size() == 1;
    if (!rhs.later || reads_both) rhs.columns = StreamedColumns(q, view);
    if (rhs.columns == 0) rhs.later = false;
  }
  schedule.tile.vectors = is_packed ? q.TileOf(is_packed).vectors
                          : schedule.rhs.columns > 0
                              ? schedule.rhs.columns / view.lanes
                              : StreamedInPlace(view, view.m.value(), q.target);
  if (schedule.rhs.columns > 0) return schedule;
  schedule.rhs.nibbles =
      view.reads_nibbles ? 2 * view.k_loops[0].trips.value() : RowsInNibbles(view);
  if (schedule.rhs.nibbles > 0) {
    // What the rows of a column are added to lies in registers, too.
    schedule.tile.vectors = CeilDiv(schedule.tile.vectors, 2);
    schedule.rhs.columns = view.lanes * schedule.tile.vectors;
  }
  return schedule;
}

absl::StatusOr<Schedule> FitsWinograd(const Question& q) {
  TEKTITE_RETURN_IF_ERROR(CheckWinograd(q.fusion, q.View(), q.target));
  if (q.target.splits_f32 && FitsPairs(q).ok()) return Unimplemented("products of halves");
  WinogradTiling plan;
  plan.direct = *q.View();
  plan.direct.vectors = static_cast<int>(q.TileOf(q.is_packed()).vectors);
  TEKTITE_RETURN_IF_ERROR(ChooseWinograd(plan, q.target));
  Schedule schedule = Of(kWinograd);
  schedule.tile = {plan.direct.vectors, plan.rows};
  schedule.rhs.columns = plan.direct.panel();
  schedule.blocks.channels = plan.block_channels;
  schedule.blocks.panels = plan.block_panels;
  return schedule;
}

absl::StatusOr<Schedule> FitsGrouped(const Question& q) {
  TEKTITE_ASSIGN_OR_RETURN(const GroupedTiling plan, TileGrouped(q.fusion, nullptr, q.target));
  Schedule schedule = Of(target::kGrouped);
  schedule.tile = {plan.contraction.vectors, plan.contraction.rows};
  return schedule;
}

absl::StatusOr<Schedule> FitsGroupedFilter(const Question& q) {
  TEKTITE_ASSIGN_OR_RETURN(const GroupedFilterTiling plan,
                           TileGroupedFilter(q.fusion, nullptr, q.target));
  Schedule schedule = Of("grouped_filter");
  schedule.tile = {plan.contraction.vectors, plan.contraction.rows};
  schedule.blocks.pixels = plan.pixels;
  schedule.blocks.steps = plan.unit_steps;
  schedule.blocks.taps = plan.taps;
  return schedule;
}

}  // namespace tektite::cpu
