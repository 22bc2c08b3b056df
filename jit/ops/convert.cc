// Changes of the element type.
#include "jit/ops/infer.h"

namespace tektite::ops {

using ir::Attr;
using ir::DType;

absl::StatusOr<Shapes> InferConvert(const InferContext& c) {
  const ir::Shape& x = c.operand(0);
  if (c.op == ir::Op::kReducePrecision) {
    if (!ir::IsFloat(x.dtype())) return InvalidArgument("not defined for ", x.ToString());
    const int64_t exponent = c.attrs.Int(Attr::exponent_bits, -1);
    const int64_t mantissa = c.attrs.Int(Attr::mantissa_bits, -1);
    if (exponent < 1 || exponent > 11 || mantissa < 0 || mantissa > 52) {
      return InvalidArgument("exponent_bits must be 1 to 11 and mantissa_bits 0 to 52, got ",
                             exponent, " and ", mantissa);
    }
    return One(x);
  }
  TEKTITE_ASSIGN_OR_RETURN(DType dtype, c.GetDType(Attr::dtype));
  if (c.op == ir::Op::kBitcast) {
    const bool differ = ir::DTypeBytes(dtype) != ir::DTypeBytes(x.dtype());
    // A bool is a byte that is 0 or 1: other bits would be undefined.
    const bool any_bool = (dtype == DType::kBool) != (x.dtype() == DType::kBool);
    if (differ || any_bool) {
      return InvalidArgument(x.ToString(), " cannot become ", ir::DTypeName(dtype));
    }
  }
  return One(x.WithDType(dtype));
}

}  // namespace tektite::ops
