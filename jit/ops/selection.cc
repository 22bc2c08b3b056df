// compact, nonzero, non_max_suppression and unique: how many rows a result has is decided by the
// values. is_member.
//
//   %y, %count = compact(%mask: bool[n], %x: f32[n,4])   f32[n,4], s64[]
//   %p, %count = nonzero(%mask: bool[h,w])               s64[h*w,2], s64[]
//   %v, %i, %c, %count = unique(%x: s32[n]) {dtype=s32}  s32[n], s32[n], s32[n], s64[]
//   %i, %s, %count = non_max_suppression(%boxes: f32[n,4], %scores: f32[n], %most: s32[],
//       %overlap: f32[], %least: f32[], %sigma: f32[]) {shape=(m)}  s32[m], f32[m], s64[]
//   %m = is_member(%x: s32[n], %y: s32[m])               bool[n]
//
// A result has room for as many rows as there can be. The first `count` rows hold the answer, the
// rows after them anything. compact keeps rows in order, nonzero returns places in row-major order,
// unique returns rows in the order in which they appear first, for every row the number of its
// like, and how often each occurs. NaN is unlike anything, 0 is like -0. non_max_suppression.h says
// which boxes stay: `most` at most, and as many as there is room for.
#include "jit/ops/infer.h"
#include "jit/ops/names.h"

namespace tektite::ops {

namespace {

const Shape kCount(DType::kS64, Dims());

absl::Status CheckMask(const Shape& mask) {
  if (mask.dtype() == DType::kBool) return absl::OkStatus();
  return InvalidArgument("the mask must be bool, got ", mask.ToString());
}

absl::StatusOr<Shapes> Compact(const InferContext& c) {
  const Shape &mask = c.operand(0), &x = c.operand(1);
  TEKTITE_RETURN_IF_ERROR(CheckMask(mask));
  if (mask.rank() != 1 || x.rank() < 1) {
    return InvalidArgument("not defined for ", mask.ToString(), " and ", x.ToString());
  }
  Shape rows = x;
  TEKTITE_ASSIGN_OR_RETURN(Dim n, c.Same(mask.dim(0), x.dim(0), "mask and rows differ"));
  rows.set_dim(0, n);
  return Shapes{rows, kCount};
}

absl::StatusOr<Shapes> Unique(const InferContext& c) {
  const Shape& x = c.operand(0);
  TEKTITE_ASSIGN_OR_RETURN(DType dtype, c.GetDType(Attr::dtype));
  if (x.rank() < 1 || (dtype != DType::kS32 && dtype != DType::kS64)) {
    return InvalidArgument("not defined for ", x.ToString(), " with numbers of type ",
                           ir::DTypeName(dtype));
  }
  const Shape numbers(dtype, {x.dim(0)});
  return Shapes{x, numbers, numbers, kCount};
}

absl::StatusOr<Shapes> IsMember(const InferContext& c) {
  const Shape &x = c.operand(0), &y = c.operand(1);
  if (x.rank() != 1 || y.rank() != 1 || x.dtype() != y.dtype()) {
    return InvalidArgument("not defined for ", x.ToString(), " and ", y.ToString());
  }
  return One(x.WithDType(DType::kBool));
}

absl::StatusOr<Shapes> NonMaxSuppression(const InferContext& c) {
  const Shape &boxes = c.operand(0), &scores = c.operand(1);
  if (boxes.rank() != 2 || scores.rank() != 1 || boxes.dtype() != DType::kF32 ||
      scores.dtype() != DType::kF32) {
    return InvalidArgument("not defined for ", boxes.ToString(), " and ", scores.ToString());
  }
  TEKTITE_RETURN_IF_ERROR(c.Same(boxes.dim(0), scores.dim(0), "boxes and scores differ").status());
  TEKTITE_RETURN_IF_ERROR(c.Same(boxes.dim(1), Dim(4), "a box has four numbers").status());
  for (int i = 2; i < c.num_operands(); ++i) {
    const Shape scalar(i == 2 ? DType::kS32 : DType::kF32, Dims());
    TEKTITE_RETURN_IF_ERROR(c.SameShape(c.operand(i), scalar, "a limit").status());
  }
  TEKTITE_ASSIGN_OR_RETURN(Dims room, c.GetSizes(Attr::shape));
  if (room.size() != 1) return InvalidArgument("shape must have one dimension");
  return Shapes{Shape(DType::kS32, room), Shape(DType::kF32, room), kCount};
}

}  // namespace

absl::StatusOr<Shapes> InferSelection(const InferContext& c) {
  switch (c.op) {
    case ir::Op::kCompact:
      return Compact(c);
    case ir::Op::kNonzero: {
      const Shape& mask = c.operand(0);
      TEKTITE_RETURN_IF_ERROR(CheckMask(mask));
      return Shapes{Shape(DType::kS64, Dims{mask.NumElements(), Dim(mask.rank())}), kCount};
    }
    case ir::Op::kIsMember:
      return IsMember(c);
    case ir::Op::kNonMaxSuppression:
      return NonMaxSuppression(c);
    default:
      return Unique(c);
  }
}

}  // namespace tektite::ops
