// The kernel of a contraction of f16 or bf16, with matrix instructions.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_MATRIX_CONTRACTION_H_
#define TEKTITE_BACKENDS_GPU_EMIT_MATRIX_CONTRACTION_H_

#include "absl/status/status.h"
#include "backends/gpu/emit/contraction_view.h"
#include "jit/ir/graph.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

// Whether the operands' types are those of matrix instructions.  f32 is not: it would be rounded to
// the 10 bits of TF32.
bool HasMatrixInstructions(const ContractionView& view);

// Fills `kernel`, whose region CheckResults has taken.
absl::Status EmitMatrixContraction(const ir::Graph& region, const ContractionView& view,
                                   loop::Kernel* kernel);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_MATRIX_CONTRACTION_H_
