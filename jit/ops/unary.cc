// Elementwise ops of one operand.
#include "jit/ops/infer.h"
#include "jit/ops/names.h"

namespace tektite::ops {

namespace {

bool Accepts(Op op, DType dtype) {
  switch (op) {
    case Op::kAbs:
    case Op::kNeg:
    case Op::kSign:
      return IsNumber(dtype);
    case Op::kNot:
      return !ir::IsFloat(dtype);
    case Op::kPopcnt:
      return ir::IsInteger(dtype);
    default:
      return ir::IsFloat(dtype);
  }
}

}  // namespace

absl::StatusOr<Shapes> InferUnary(const InferContext& c) {
  const ir::Shape& x = c.operand(0);
  if (!Accepts(c.op, x.dtype())) return InvalidArgument("not defined for ", x.ToString());
  return One(c.op == Op::kIsFinite ? x.WithDType(DType::kBool) : x);
}

}  // namespace tektite::ops
