// exp(x) of x that is not above 0, for weights of a softmax that are rounded to f16 or bf16:
// shorter than the general one, which must not overflow and is as good as f32.
//
// f32, any number of lanes.  Errors: 2^-17; exp(0) is 1.  Below 2^-126.5 the result is 0.  -inf
// returns 0, NaN returns NaN.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_WEIGHT_EXP_H_
#define TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_WEIGHT_EXP_H_

#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

loop::Value WeightExp(loop::Builder& b, loop::Value x);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_ATTENTION_WEIGHT_EXP_H_
