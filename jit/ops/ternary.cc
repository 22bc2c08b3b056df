// clamp and select: three operands of one shape.
#include "jit/ops/infer.h"
#include "jit/ops/names.h"

namespace tektite::ops {

absl::StatusOr<Shapes> InferTernary(const InferContext& c) {
  if (c.op == ir::Op::kClamp) {
    TEKTITE_ASSIGN_OR_RETURN(Shape shape, c.SameOperands());
    if (!IsNumber(shape.dtype())) return InvalidArgument("not defined for ", shape.ToString());
    return One(shape);
  }
  if (c.operand(0).dtype() != DType::kBool) {
    return InvalidArgument("the condition must be bool, got ", c.operand(0).ToString());
  }
  TEKTITE_ASSIGN_OR_RETURN(Shape shape, c.SameShape(c.operand(1), c.operand(2), "branches differ"));
  TEKTITE_ASSIGN_OR_RETURN(Shape condition, c.SameShape(shape.WithDType(DType::kBool), c.operand(0),
                                                        "condition and branches differ"));
  return One(condition.WithDType(shape.dtype()));
}

}  // namespace tektite::ops
