#include "backends/gpu/emit/emitter.h"

#include <algorithm>

#include "jit/base/status.h"
#include "jit/llvm/emit/region_kernel.h"

namespace tektite::gpu {
namespace {

using ir::FusionKind;

using EmitPlain = absl::StatusOr<EmittedKernel>(const ir::Node&, const std::string&);
using Emit = absl::StatusOr<EmittedKernel>(const ir::Node&, const std::string&, const EmitOptions&);

// Takes the options, or knows none.
struct Emitter {
  constexpr Emitter(FusionKind kind, EmitPlain* plain) : kind(kind), plain(plain) {}
  constexpr Emitter(FusionKind kind, Emit* emit) : kind(kind), emit(emit) {}
  absl::StatusOr<EmittedKernel> Run(const ir::Node& fusion, const std::string& name,
                                    const EmitOptions& options) const {
    return emit != nullptr ? emit(fusion, name, options) : plain(fusion, name);
  }

  FusionKind kind;
  EmitPlain* plain = nullptr;
  Emit* emit = nullptr;
};
// In order of preference within a kind.
constexpr Emitter kEmitters[] = {
    {FusionKind::kAttention, EmitAttention},
    {FusionKind::kContraction, EmitLongSum},
    {FusionKind::kContraction, EmitContraction},
    {FusionKind::kLoop, EmitLoop},
    {FusionKind::kRow, EmitReduce},
    {FusionKind::kRow, EmitRow},
    {FusionKind::kReduce, EmitReduce},
    {FusionKind::kReduce, EmitRegionReduce},
    {FusionKind::kSingle, EmitReduce},
    {FusionKind::kSingle, EmitRegionReduce},
    {FusionKind::kSingle, EmitLongSum},
    {FusionKind::kSingle, EmitContraction},
    {FusionKind::kSingle, EmitWindow},
    {FusionKind::kSingle, EmitCumulative},
    {FusionKind::kSingle, EmitOrder},
    {FusionKind::kSingle, EmitScatter},
    {FusionKind::kSingle, EmitSelection},
    {FusionKind::kSingle, EmitSuppression},
    {FusionKind::kSingle, EmitUnique},
    {FusionKind::kSingle, EmitLoop},
    {FusionKind::kWindow, EmitWindow},
    {FusionKind::kWindow, EmitWindowGradient},
};

}  // namespace

int64_t VectorElements(const ir::Graph& region) {
  int widest = 1;
  const auto look = [&](const ir::Shape& shape) {
    if (shape.rank() > 0) widest = std::max(widest, ir::DTypeBytes(shape.dtype()));
  };
  for (const ir::Node* p : region.parameters()) look(p->shape());
  for (ir::Value v : region.outputs()) look(v.shape());
  return kVectorBytes / widest;
}

absl::StatusOr<EmittedKernel> EmitKernel(const ir::Node& fusion, const std::string& name,
                                         const EmitOptions& options) {
  TEKTITE_RETURN_IF_ERROR(loop::CheckBroadcasts(fusion.region()));
  const FusionKind kind = fusion.fusion_kind();
  absl::Status refusals = Unimplemented("no gpu kernel of kind ", ir::FusionKindName(kind));
  for (const Emitter& emitter : kEmitters) {
    if (kind != emitter.kind) continue;
    absl::StatusOr<EmittedKernel> emitted = emitter.Run(fusion, name, options);
    if (emitted.ok()) {
      TEKTITE_RETURN_IF_ERROR(loop::Verify(*emitted->kernel));
      for (const auto& kernel : emitted->then) TEKTITE_RETURN_IF_ERROR(loop::Verify(*kernel));
      return emitted;
    }
    if (!absl::IsUnimplemented(emitted.status())) return emitted.status();
    refusals = emitted.status();
  }
  return refusals;
}

}  // namespace tektite::gpu
