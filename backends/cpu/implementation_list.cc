#include "backends/cpu/implementation_list.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backends/cpu/attention/attention_emitter.h"
#include "backends/cpu/contraction/contraction_emitters.h"
#include "backends/cpu/contraction/contraction_schedules.h"
#include "backends/cpu/contraction/winograd_plan.h"
#include "backends/cpu/loops/loop_emitters.h"
#include "backends/cpu/loops/transpose_emitter.h"
#include "backends/cpu/onednn/onednn_kernels.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

using ir::FusionKind;
using ir::Node;
using target::Schedule;

struct Implementation {
  FusionKind kind;
  absl::string_view name;
  // Null: whether it fits turns out when code is made.
  absl::StatusOr<Schedule> (*fits)(const Node&, const target::Facts&, const Target&);
  absl::StatusOr<EmittedKernel> (*emit)(const Node&, const Target&, const std::string&);
};
// In order of preference within a kind.
constexpr Implementation kImplementations[] = {
    {FusionKind::kLoop, "transposing", nullptr, EmitTransposingLoop},
    {FusionKind::kLoop, target::kOwn, nullptr, EmitLoop},
    {FusionKind::kRow, "row", nullptr, EmitRow},
    {FusionKind::kRow, target::kOwn, nullptr, EmitReduce},
    {FusionKind::kReduce, "reduce", nullptr, EmitReduce},
    {FusionKind::kReduce, target::kOwn, nullptr, EmitSingle},
    {FusionKind::kAttention, target::kOwn, nullptr, EmitAttention},
    {FusionKind::kContraction, "grouped", FitsGrouped, EmitGrouped},
    {FusionKind::kContraction, "grouped_filter", FitsGroupedFilter, EmitGroupedFilter},
    {FusionKind::kContraction, "streamed", FitsStreamed, EmitStreamedProduct},
    {FusionKind::kContraction, kWinograd, FitsWinograd, EmitWinograd},
    {FusionKind::kContraction, "pairs", FitsPairs, EmitPairs},
    {FusionKind::kContraction, target::kOwn, FitsTiles, EmitTiles},
    {FusionKind::kWindow, "window", nullptr, EmitWindow},
    {FusionKind::kWindow, target::kOwn, nullptr, EmitWindowGradient},
    {FusionKind::kSingle, target::kOwn, nullptr, EmitSingle},
};

absl::StatusOr<Schedule> FitsOneDnn(const Node& fusion, const target::Facts& facts,
                                    const Target& target) {
  if (!facts.rhs_is_weights) return Unimplemented("weights that are not packed");
  Schedule schedule;
  schedule.implementation = kOneDnn;
  schedule.stands_alone = true;
  TEKTITE_ASSIGN_OR_RETURN(schedule.rhs.columns, OneDnnPanelWidth(fusion, target));
  return schedule;
}

// 1, or 0 where all results are empty: f32[2^40,0] has 2^40 rows, and nothing to do for any of
// them.
ir::Dim AnyElement(const ir::Graph& region) {
  ir::Dim elements = 0;
  for (ir::Value output : region.outputs()) {
    elements = elements + ir::Product(output.shape().dims());
  }
  return Min(elements, 1);
}

}  // namespace

std::vector<target::Offer> SchedulesFor(const Node& fusion, const target::Facts& facts,
                                        const Target& target) {
  std::vector<target::Offer> offers;
  const FusionKind kind = fusion.fusion_kind();
  absl::string_view first;
  for (const Implementation& row : kImplementations) {
    if (kind != row.kind || row.fits == nullptr) continue;
    offers.push_back({row.name, row.fits(fusion, facts, target)});
    if (first.empty() && offers.back().schedule.ok()) first = row.name;
  }
  // Where a kernel is one of register tiles, measurements may prefer others, or a library.
  if (!facts.alternatives || (first != target::kOwn && first != kWinograd)) return offers;
  for (Schedule& schedule : OtherTiles(fusion, facts, target)) {
    offers.push_back({target::kOwn, std::move(schedule)});
  }
  offers.push_back({kOneDnn, FitsOneDnn(fusion, facts, target)});
  return offers;
}

absl::StatusOr<EmittedKernel> EmitKernel(const Node& fusion, const Target& target,
                                         const std::string& name) {
  TEKTITE_RETURN_IF_ERROR(loop::CheckBroadcasts(fusion.region()));
  const FusionKind kind = fusion.fusion_kind();
  const std::string chosen = target::ScheduleOf(fusion).implementation;
  const auto is_chosen = [&](const Implementation& row) {
    return kind == row.kind && row.fits != nullptr && row.name == chosen;
  };
  bool is_before = fusion.attrs().Has(ir::Attr::schedule) &&
                   std::any_of(std::begin(kImplementations), std::end(kImplementations), is_chosen);
  absl::Status refusals = Unimplemented("no cpu kernel of kind ", ir::FusionKindName(kind));
  for (const Implementation& row : kImplementations) {
    is_before = is_before && !is_chosen(row);
    if (kind != row.kind || is_before) continue;
    auto kernel = row.emit(fusion, target, name);
    if (kernel.ok()) {
      kernel->num_chunks = kernel->num_chunks * AnyElement(fusion.region());
      TEKTITE_RETURN_IF_ERROR(loop::Verify(*kernel->kernel));
      if (!kernel->kernel->sizes.complete()) {
        return Internal(name, ": the code names a symbol that the region does not have");
      }
      return kernel;
    }
    if (!absl::IsUnimplemented(kernel.status())) return kernel.status();
    refusals = kernel.status();
  }
  return refusals;
}

}  // namespace tektite::cpu
