// Products of few rows, such as a step of decoding: bound by reading the other operand once.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_FEW_ROWS_CONTRACTION_H_
#define TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_FEW_ROWS_CONTRACTION_H_

#include "absl/status/status.h"
#include "backends/gpu/emit/contraction/contraction_view.h"
#include "jit/ir/graph.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

// Whether there are few rows, not too short, of floats or bytes, and the other operand, of the same
// type or of bytes, lies in whole vectors of 16 bytes.
bool IsOfFewRows(const ContractionView& view);

// Fills `kernel`, whose region CheckResults has taken.
absl::Status EmitFewRows(const ir::Graph& region, const ContractionView& view,
                         loop::Kernel* kernel);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_FEW_ROWS_CONTRACTION_H_
