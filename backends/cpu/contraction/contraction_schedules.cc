#include "backends/cpu/contraction/contraction_schedules.h"

#include <utility>

#include "backends/cpu/contraction/contraction_tiles.h"
#include "backends/cpu/contraction/grouped_filter_plan.h"
#include "backends/cpu/contraction/grouped_plan.h"
#include "backends/cpu/contraction/pair_plan.h"
#include "backends/cpu/contraction/winograd_plan.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"

namespace tektite::cpu {
namespace {

using ir::Dim;
using ir::Node;
using target::Facts;
using target::RhsLayout;
using target::Schedule;

// Packing weights takes as long as some three products of few rows, each of which then saves a
// third.
constexpr int64_t kRunsToPackFewRows = 8;

Schedule Of(const char* implementation, RhsLayout rhs = {}) {
  Schedule schedule;
  schedule.implementation = implementation;
  schedule.rhs = rhs;
  return schedule;
}

// The columns of panels that a streamed product reads faster than weights as they are; 0: none.
int64_t StreamedColumns(const Node& fusion, const ContractionPlan& plan, const Target& target) {
  if (!HasFewRows(plan)) return 0;
  const auto packed = PlanContraction(fusion, target, /*will_be_packed=*/true);
  if (!packed.ok() || !packed->n.is_constant() || !packed->k.is_constant()) return 0;
  const int64_t n = packed->n.value(), bytes = packed->k.value() * n * ir::DTypeBytes(plan.dtype);
  const int64_t padded = packed->panels().value() * packed->panel();
  const bool along_n = plan.rhs_n_stride == Dim(1);
  const bool pays = along_n && bytes >= target.l2_bytes / 2 && padded <= n + n / 8;
  return pays ? packed->panel() : 0;
}

}  // namespace

absl::StatusOr<Schedule> FitsTiles(const Node& fusion, const Facts& facts, const Target& target) {
  if (HasPairs(fusion)) return Unimplemented("panels of pairs");
  if (facts.rhs_is_weights) {
    const auto packed = PlanContraction(fusion, target, /*will_be_packed=*/true);
    if (packed.ok()) return Of(target::kOwn, {packed->panel()});
  }
  TEKTITE_RETURN_IF_ERROR(PlanContraction(fusion, target).status());
  return Schedule();
}

absl::StatusOr<Schedule> FitsPairs(const Node& fusion, const Facts& facts, const Target& target) {
  if (facts.rhs_is_weights) {
    const auto packed = PlanPairs(fusion, target, /*will_be_packed=*/true);
    if (packed.ok()) return Of("pairs", {packed->contraction.panel(), packed->words.value()});
  }
  TEKTITE_RETURN_IF_ERROR(PlanPairs(fusion, target).status());
  return Of("pairs");
}

absl::StatusOr<Schedule> FitsStreamed(const Node& fusion, const Facts& facts,
                                      const Target& target) {
  TEKTITE_ASSIGN_OR_RETURN(const ContractionPlan plan, PlanStreamed(fusion, target));
  if (!plan.m.is_constant()) return Unimplemented("an unknown number of rows");
  RhsLayout rhs;
  if (!facts.rhs_is_weights) return Of("streamed");
  rhs.later = facts.runs < kRunsToPackFewRows;
  // Rows of k must be one stride apart in either layout.
  const bool reads_both = plan.batch == Dim(1) && plan.k_loops.size() == 1;
  if (!rhs.later || reads_both) rhs.columns = StreamedColumns(fusion, plan, target);
  if (rhs.columns == 0) rhs.later = false;
  return Of("streamed", rhs);
}

absl::StatusOr<Schedule> FitsWinograd(const Node& fusion, const Facts& facts,
                                      const Target& target) {
  TEKTITE_ASSIGN_OR_RETURN(const WinogradPlan plan,
                           PlanWinograd(fusion, target, facts.rhs_is_weights));
  return Of(kWinograd, {facts.rhs_is_weights ? plan.direct.panel() : 0});
}

absl::StatusOr<Schedule> FitsGrouped(const Node& fusion, const Facts&, const Target& target) {
  TEKTITE_RETURN_IF_ERROR(PlanGrouped(fusion, target).status());
  return Of("grouped");
}

absl::StatusOr<Schedule> FitsGroupedFilter(const Node& fusion, const Facts&, const Target& target) {
  TEKTITE_RETURN_IF_ERROR(PlanGroupedFilter(fusion, target).status());
  return Of("grouped_filter");
}

std::vector<Schedule> OtherTiles(const Node& fusion, const Facts& facts, const Target& target) {
  std::vector<Schedule> schedules;
  if (ir::HasSymbols(fusion.region())) return schedules;
  const auto plan = PlanContraction(fusion, target, /*will_be_packed=*/true);
  const absl::StatusOr<std::vector<Tile>> tiles = CandidateTiles(fusion, target);
  if (!plan.ok() || !tiles.ok()) return schedules;
  for (size_t i = 1; i < tiles->size(); ++i) {
    const Tile& tile = (*tiles)[i];
    const int64_t columns = facts.rhs_is_weights ? int64_t{plan->lanes} * tile.vectors : 0;
    schedules.push_back(Of(target::kOwn, {columns}));
    schedules.back().variant = TileName(tile);
  }
  return schedules;
}

}  // namespace tektite::cpu
