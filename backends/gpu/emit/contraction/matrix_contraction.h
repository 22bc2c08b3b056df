// The kernel of a contraction of f16 or bf16, of f32 in TF32, or of bytes, with matrix
// instructions.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_MATRIX_CONTRACTION_H_
#define TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_MATRIX_CONTRACTION_H_

#include "absl/status/statusor.h"
#include "backends/gpu/emit/contraction/contraction_view.h"
#include "backends/gpu/emit/emitter.h"
#include "jit/ir/graph.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

// Whether the operands' types are those of matrix instructions.  f32 is where the options allow it
// to be rounded to the 10 bits of TF32.
bool HasMatrixInstructions(const ContractionView& view, const EmitOptions& options);

// Fills `kernel`, whose region CheckResults has taken.  Returns how many slices its sums are cut
// into; more than one: EmitSliceSums has to follow (split_sums.h).
absl::StatusOr<int64_t> EmitMatrixContraction(const ir::Graph& region, const ContractionView& view,
                                              const EmitOptions& options, loop::Kernel* kernel);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_MATRIX_CONTRACTION_H_
