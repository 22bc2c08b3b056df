#include "backends/cpu/emitter_list.h"

#include "backends/cpu/attention/attention_emitter.h"
#include "backends/cpu/contraction/contraction_emitters.h"
#include "backends/cpu/loops/loop_emitters.h"
#include "backends/cpu/loops/transpose_emitter.h"
#include "jit/base/status.h"

namespace tektite::cpu {
namespace {

using ir::FusionKind;
using ir::Node;

struct Emitter {
  FusionKind kind;
  absl::StatusOr<EmittedKernel> (*emit)(const Node&, const Target&, const std::string&);
};
// In order of preference within a kind.
constexpr Emitter kEmitters[] = {
    {FusionKind::kLoop, EmitTransposingLoop},
    {FusionKind::kLoop, EmitLoop},
    {FusionKind::kRow, EmitRow},
    {FusionKind::kRow, EmitReduce},
    {FusionKind::kReduce, EmitReduce},
    {FusionKind::kReduce, EmitSingle},
    {FusionKind::kAttention, EmitAttention},
    {FusionKind::kContraction, EmitGrouped},
    {FusionKind::kContraction, EmitGroupedFilter},
    {FusionKind::kContraction, EmitStreamedProduct},
    {FusionKind::kContraction, EmitWinograd},
    {FusionKind::kContraction, EmitContraction},
    {FusionKind::kWindow, EmitWindow},
    {FusionKind::kWindow, EmitWindowGradient},
    {FusionKind::kSingle, EmitSingle},
};

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

absl::StatusOr<EmittedKernel> EmitKernel(const Node& fusion, const Target& target,
                                         const std::string& name) {
  TEKTITE_RETURN_IF_ERROR(loop::CheckBroadcasts(fusion.region()));
  const FusionKind kind = fusion.fusion_kind();
  absl::Status refusals = Unimplemented("no cpu kernel of kind ", ir::FusionKindName(kind));
  for (const Emitter& emitter : kEmitters) {
    if (kind != emitter.kind) continue;
    auto kernel = emitter.emit(fusion, target, name);
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
