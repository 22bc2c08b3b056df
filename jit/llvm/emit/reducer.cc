#include "jit/llvm/emit/reducer.h"

#include "jit/ops/ops.h"

namespace tektite::loop {

DType AccumulatorOf(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

Value ReducerIdentity(Builder& b, const std::string& reducer, DType accumulator, int lanes) {
  const ir::Literal identity = ops::ReducerIdentity(reducer, accumulator);
  const Value v = ir::IsFloat(accumulator) ? b.Float(accumulator, identity.AsDouble(0))
                                           : b.Int(accumulator, identity.AsInt(0));
  return b.Splat(v, lanes);
}

}  // namespace tektite::loop
