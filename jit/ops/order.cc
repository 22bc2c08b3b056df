// sort and top_k.  NaN counts as greater than everything, -0 as equal to 0; top_k keeps the order
// of equal values.  With `heap` its results are in the order of a heap (jit/base/heap_order.h),
// which compares as C++ does.
#include "jit/ops/infer.h"
#include "jit/ops/names.h"

namespace tektite::ops {

absl::StatusOr<Shapes> InferOrder(const InferContext& c) {
  const Shape& x = c.operand(0);
  if (c.op == ir::Op::kSort) {
    auto dimension = c.DimNumber(Attr::dimension, x.rank());
    if (!dimension.ok()) return dimension.status();
    Shapes results;
    for (const Shape& s : c.operands) {
      TEKTITE_ASSIGN_OR_RETURN(
          Shape same, c.SameShape(x.WithDType(s.dtype()), s, "operands differ in their sizes"));
      results.push_back(same);
    }
    return results;
  }
  const int64_t k = c.attrs.Int(Attr::k, -1);
  if (x.rank() == 0 || !IsNumber(x.dtype())) {
    return InvalidArgument("not defined for ", x.ToString());
  }
  const Dim& last = x.dim(x.rank() - 1);
  if (k < 0 || (last.is_constant() && k > last.value())) {
    return InvalidArgument("k must be 0 to ", last.ToString(), ", got ", k);
  }
  Shape values = x;
  values.set_dim(x.rank() - 1, Dim(k));
  return Shapes{values, values.WithDType(DType::kS32)};
}

}  // namespace tektite::ops
