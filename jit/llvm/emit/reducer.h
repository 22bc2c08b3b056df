// The accumulators of reductions, on every back end.
//
//   Value sum = ReducerIdentity(b, "add", AccumulatorOf(DType::kBF16), 16);     // f32 zeros
#ifndef TEKTITE_JIT_LLVM_EMIT_REDUCER_H_
#define TEKTITE_JIT_LLVM_EMIT_REDUCER_H_

#include <string>

#include "jit/llvm/loop_ir.h"

namespace tektite::loop {

// f16 and bf16 accumulate in f32.
DType AccumulatorOf(DType dtype);
// The reducer's identity: a value that changes no result.
Value ReducerIdentity(Builder& b, const std::string& reducer, DType accumulator, int lanes);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_EMIT_REDUCER_H_
