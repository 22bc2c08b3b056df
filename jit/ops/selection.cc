// compact, nonzero and unique: how many rows a result has is decided by the values.
//
//   %y, %count = compact(%mask: bool[n], %x: f32[n,4])   f32[n,4], s64[]
//   %p, %count = nonzero(%mask: bool[h,w])               s64[h*w,2], s64[]
//   %v, %i, %c, %count = unique(%x: s32[n]) {dtype=s32}  s32[n], s32[n], s32[n], s64[]
//
// A result has room for as many rows as there can be. The first `count` rows hold the answer, the
// others anything. compact keeps rows in order, nonzero gives places in row-major order, unique
// gives values in the order in which they appear first, for every element the number of its value,
// and how often each value occurs. NaN is unlike anything, 0 is like -0.
#include "jit/ops/infer.h"

namespace tektite::ops {

using ir::Attr;
using ir::Dim;
using ir::Dims;
using ir::DType;
using ir::Shape;

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
  if (x.rank() != 1 || (dtype != DType::kS32 && dtype != DType::kS64)) {
    return InvalidArgument("not defined for ", x.ToString(), " with numbers of type ",
                           ir::DTypeName(dtype));
  }
  return Shapes{x, x.WithDType(dtype), x.WithDType(dtype), kCount};
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
    default:
      return Unique(c);
  }
}

}  // namespace tektite::ops
