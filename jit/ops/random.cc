// Random numbers by Philox 4x32-10: a function of the state u64[2], which holds the key and the
// counter of 128-bit blocks.  rng_bit_generator also gives the state after it.
#include "jit/ops/infer.h"

namespace tektite::ops {

using ir::Attr;
using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Op;
using ir::Shape;

absl::StatusOr<Shapes> InferRandom(const InferContext& c) {
  const Shape state(DType::kU64, {Dim(2)});
  if (c.operand(0) != state) {
    return InvalidArgument("the state must be u64[2], got ", c.operand(0).ToString());
  }
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, c.GetSizes(Attr::shape));
  if (c.op == Op::kRngBitGenerator) {
    TEKTITE_ASSIGN_OR_RETURN(DType dtype, c.GetDType(Attr::dtype));
    if (dtype != DType::kU32 && dtype != DType::kU64) {
      return InvalidArgument("gives u32 or u64, not ", ir::DTypeName(dtype));
    }
    return Shapes{state, Shape(dtype, dims)};
  }
  const DType dtype = c.operand(1).dtype();
  if (c.operand(1) != Shape(dtype, Dims()) || c.operand(2) != c.operand(1)) {
    return InvalidArgument("needs two scalars of one type, got ", c.operand(1).ToString(), " and ",
                           c.operand(2).ToString());
  }
  if (c.op == Op::kRngNormal ? !ir::IsFloat(dtype) : !IsNumber(dtype)) {
    return InvalidArgument("not defined for ", ir::DTypeName(dtype));
  }
  return One(Shape(dtype, dims));
}

}  // namespace tektite::ops
