// Random bits by Philox 4x32-10: a function of the state u64[2], which holds the key and the
// counter of 128-bit blocks.  rng_bit_generator also returns the state after it.
#include "jit/ops/infer.h"

namespace tektite::ops {

using ir::Attr;
using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Shape;

absl::StatusOr<Shapes> InferRandom(const InferContext& c) {
  const Shape state(DType::kU64, {Dim(2)});
  if (c.operand(0) != state) {
    return InvalidArgument("the state must be u64[2], got ", c.operand(0).ToString());
  }
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, c.GetSizes(Attr::shape));
  TEKTITE_ASSIGN_OR_RETURN(DType dtype, c.GetDType(Attr::dtype));
  if (dtype != DType::kU32 && dtype != DType::kU64) {
    return InvalidArgument("returns u32 or u64, not ", ir::DTypeName(dtype));
  }
  return Shapes{state, Shape(dtype, dims)};
}

}  // namespace tektite::ops
