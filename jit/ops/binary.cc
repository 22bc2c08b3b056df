// Elementwise ops of two operands of one shape; compare returns bool.
#include "jit/ops/infer.h"
#include "jit/ops/names.h"

namespace tektite::ops {

namespace {

bool Accepts(Op op, DType dtype) {
  switch (op) {
    case Op::kCompare:
      return true;
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      return !ir::IsFloat(dtype);
    case Op::kShiftLeft:
    case Op::kShiftRightArithmetic:
    case Op::kShiftRightLogical:
      return ir::IsInteger(dtype);
    case Op::kAtan2:
      return ir::IsFloat(dtype);
    default:
      return IsNumber(dtype);
  }
}

bool IsDirection(absl::string_view name) {
  return name == "eq" || name == "ne" || name == "lt" || name == "le" || name == "gt" ||
         name == "ge";
}

}  // namespace

absl::StatusOr<Shapes> InferBinary(const InferContext& c) {
  TEKTITE_ASSIGN_OR_RETURN(ir::Shape shape, c.SameOperands());
  if (!Accepts(c.op, shape.dtype())) return InvalidArgument("not defined for ", shape.ToString());
  if (c.op != Op::kCompare) return One(shape);
  const std::string& direction = c.attrs.String(Attr::direction);
  if (!IsDirection(direction)) {
    return InvalidArgument("direction must be eq, ne, lt, le, gt or ge, got '", direction, "'");
  }
  return One(shape.WithDType(DType::kBool));
}

}  // namespace tektite::ops
