// Attention of f16 or bf16 with matrix instructions: matrix_attention.cc.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_MATRIX_ATTENTION_H_
#define TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_MATRIX_ATTENTION_H_

#include "absl/status/status.h"
#include "backends/gpu/emit/attention/attention_view.h"
#include "backends/gpu/emit/attention/causal_skip.h"
#include "backends/gpu/emit/emitter.h"

namespace tektite::gpu {

// Unimplemented for heads that are too wide for the registers or the shared memory of a block.
// `skip`: null, or what a launch before it has prepared.
absl::Status EmitMatrixAttention(const AttentionView& view, const EmitOptions& options,
                                 CausalSkip* skip, loop::Kernel* kernel);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_MATRIX_ATTENTION_H_
