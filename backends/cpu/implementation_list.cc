#include "backends/cpu/implementation_list.h"

#include <utility>

#include "backends/cpu/attention/attention_emitter.h"
#include "backends/cpu/contraction/contraction_emitters.h"
#include "backends/cpu/contraction/contraction_schedules.h"
#include "backends/cpu/contraction/winograd/winograd_tiling.h"
#include "backends/cpu/library/library_kernels.h"
#include "backends/cpu/loops/loop_emitters.h"
#include "backends/cpu/loops/transpose_emitter.h"
#include "backends/cpu/onednn/onednn_kernels.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::cpu {
namespace {

using ir::FusionKind;
using ir::Node;
using target::Schedule;
using ReadyKernel = std::shared_ptr<const backend::Kernel>;

// Either code is emitted, or there is a kernel that is compiled with this library.
struct Implementation {
  FusionKind kind;
  absl::string_view name;
  absl::StatusOr<Schedule> (*fits)(const Question&);
  absl::StatusOr<EmittedKernel> (*emit)(const Node&, const Schedule&, const Target&,
                                        const std::string&);
  absl::StatusOr<ReadyKernel> (*make)(const Node&, const Target&) = nullptr;
};

constexpr absl::string_view kWeightPanels = "weight_panels";

// An emitter that decides nothing a schedule would name.
template <absl::StatusOr<EmittedKernel> (*emit)(const Node&, const Target&, const std::string&)>
absl::StatusOr<EmittedKernel> Plain(const Node& fusion, const Schedule&, const Target& target,
                                    const std::string& name) {
  return emit(fusion, target, name);
}

// Whether there is code turns out when it is made: the last of its kind.
absl::StatusOr<Schedule> Last(const Question&) { return Schedule(); }

template <absl::Status (*check)(const Node&)>
absl::StatusOr<Schedule> If(const Question& question) {
  TEKTITE_RETURN_IF_ERROR(check(question.fusion));
  return Schedule();
}

template <auto make>
absl::StatusOr<ReadyKernel> Ready(const Node& fusion, const Target&) {
  return make(fusion);
}

// Channels and features from which on oneDNN sums volumes faster than our own code, which copies
// padded slices: 1.01 to 1.28 of its speed with 16 and more, 0.94 with 8, 0.59 with one channel. In
// no other class of shapes that was measured does it gain (docs/design/schedules.md).
constexpr int64_t kOneDnnChannels = 16;

absl::StatusOr<Schedule> FitsOneDnn(const Question& question) {
  const Node* root = ops::FindContraction(question.fusion.region());
  if (root == nullptr || root->op() != ir::Op::kConvolution) {
    return Unimplemented("not a convolution");
  }
  if (!question.facts.rhs_is_weights) return Unimplemented("weights that are not packed");
  const auto& view = question.View();
  TEKTITE_RETURN_IF_ERROR(view.status());
  if (view->conv.kernel_depth == 1 || view->conv.channels < kOneDnnChannels ||
      view->n.value_or(0) < kOneDnnChannels || root->operand(0).node->op() != ir::Op::kParameter) {
    return Unimplemented(root->Describe(),
                         ": oneDNN is faster where it sums volumes of many channels");
  }
  Schedule schedule;
  schedule.stands_alone = true;
  TEKTITE_ASSIGN_OR_RETURN(schedule.rhs.columns,
                           OneDnnPanelWidth(question.fusion, question.target));
  return schedule;
}

// In order of preference within a kind.  (g++ 12 refuses constexpr here under UBSan.)
const Implementation kImplementations[] = {
    {FusionKind::kLoop, kWeightPanels, If<CheckWeightPanels>, nullptr, Ready<MakeWeightPanels>},
    {FusionKind::kLoop, "transposing", If<CheckTransposingLoop>, Plain<EmitTransposingLoop>},
    {FusionKind::kLoop, target::kOwn, Last, Plain<EmitLoop>},
    {FusionKind::kRow, target::kOwn, If<CheckRow>, Plain<EmitRow>},
    {FusionKind::kRow, "reduce", Last, Plain<EmitReduce>},
    {FusionKind::kReduce, target::kOwn, If<CheckReduce>, Plain<EmitReduce>},
    {FusionKind::kReduce, "single", Last, Plain<EmitSingle>},
    {FusionKind::kAttention, target::kOwn, Last, Plain<EmitAttention>},
    {FusionKind::kContraction, target::kGrouped, FitsGrouped, EmitGrouped},
    {FusionKind::kContraction, "grouped_filter", FitsGroupedFilter, EmitGroupedFilter},
    {FusionKind::kContraction, kOneDnn, FitsOneDnn, nullptr, MakeOneDnnKernel},
    {FusionKind::kContraction, target::kStreamed, FitsStreamed, EmitStreamedProduct},
    {FusionKind::kContraction, kWinograd, FitsWinograd, EmitWinograd},
    {FusionKind::kContraction, target::kPairs, FitsPairs, EmitPairs},
    {FusionKind::kContraction, target::kOwn, FitsTiles, EmitTiles},
    {FusionKind::kWindow, target::kOwn, If<CheckWindow>, Plain<EmitWindow>},
    {FusionKind::kWindow, "gradient", Last, Plain<EmitWindowGradient>},
    {FusionKind::kSingle, "library", If<CheckLibraryKernel>, nullptr, Ready<MakeLibraryKernel>},
    {FusionKind::kSingle, target::kOwn, Last, Plain<EmitSingle>},
};

absl::StatusOr<Schedule> Ask(const Implementation& row, const Question& question) {
  absl::StatusOr<Schedule> schedule = row.fits(question);
  if (schedule.ok()) schedule->implementation = std::string(row.name);
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
                                        const Target& target, bool emitted_only) {
  std::vector<target::Offer> offers;
  const Question question(fusion, facts, target);
  for (const Implementation& row : kImplementations) {
    if (fusion.fusion_kind() != row.kind) continue;
    if (emitted_only && row.name == kOneDnn) {
      offers.push_back({row.name, Unimplemented("oneDNN is a library of its own")});
      continue;
    }
    offers.push_back({row.name, Ask(row, question)});
    if (offers.back().schedule.ok()) break;
  }
  return offers;
}

namespace {

absl::StatusOr<MadeKernel> Make(const Implementation& row, const absl::StatusOr<Schedule>& schedule,
                                const Node& fusion, const Target& target, const std::string& name) {
  TEKTITE_RETURN_IF_ERROR(schedule.status());
  MadeKernel made;
  if (row.make != nullptr) {
    TEKTITE_ASSIGN_OR_RETURN(made.ready, row.make(fusion, target));
    return made;
  }
  TEKTITE_RETURN_IF_ERROR(loop::CheckBroadcasts(fusion.region()));
  TEKTITE_ASSIGN_OR_RETURN(made.code, row.emit(fusion, *schedule, target, name));
  made.code.num_chunks = made.code.num_chunks * AnyElement(fusion.region());
  TEKTITE_RETURN_IF_ERROR(loop::Verify(*made.code.kernel));
  if (!made.code.kernel->sizes.complete()) {
    return Internal(name, ": the code names a symbol that the region does not have");
  }
  return made;
}

}  // namespace

absl::StatusOr<MadeKernel> MakeKernel(const Node& fusion, const Target& target,
                                      const std::string& name, bool emits_packing) {
  const FusionKind kind = fusion.fusion_kind();
  const target::Facts facts;
  const Question question(fusion, facts, target);
  const Schedule chosen = target::ScheduleOf(fusion);
  bool is_before = fusion.attrs().Has(ir::Attr::schedule);
  absl::Status refusal = Unimplemented("no cpu kernel of kind ", ir::FusionKindName(kind));
  for (const Implementation& row : kImplementations) {
    if (kind != row.kind) continue;
    const bool is_chosen = is_before && row.name == chosen.implementation;
    if ((is_before && !is_chosen) || (emits_packing && row.name == kWeightPanels)) continue;
    is_before = false;
    absl::StatusOr<MadeKernel> made =
        Make(row, is_chosen ? chosen : Ask(row, question), fusion, target, name);
    if (!absl::IsUnimplemented(made.status())) return made;
    refusal = made.status();
  }
  if (is_before) return InvalidArgument("no cpu kernel '", chosen.Print(), "'");
  return refusal;
}

}  // namespace tektite::cpu
