// Changes of the element type.
#include "jit/ops/infer.h"
#include "jit/ops/names.h"

namespace tektite::ops {

absl::StatusOr<Shapes> InferConvert(const InferContext& c) {
  const ir::Shape& x = c.operand(0);
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
