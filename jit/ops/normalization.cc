// Batch normalization over every dimension but feature_index.
//
// batch_norm_training(x, scale, offset) gives the normalized x, the mean and the (biased) variance;
// batch_norm_inference(x, scale, offset, mean, variance) the normalized x; and batch_norm_grad(x,
// scale, mean, variance, gradient) the gradients of x, scale and offset.
#include "absl/strings/str_cat.h"
#include "jit/ops/infer.h"

namespace tektite::ops {

using ir::Attr;
using ir::Op;
using ir::Shape;

absl::StatusOr<Shapes> InferNormalization(const InferContext& c) {
  const Shape& x = c.operand(0);
  if (!ir::IsFloat(x.dtype())) return InvalidArgument("not defined for ", x.ToString());
  TEKTITE_ASSIGN_OR_RETURN(int64_t feature, c.DimNumber(Attr::feature_index, x.rank()));
  TEKTITE_RETURN_IF_ERROR(c.Require(Attr::epsilon));
  const Shape vector(x.dtype(), {x.dim(static_cast<int>(feature))});
  for (int i = 1; i < c.num_operands(); ++i) {
    const bool gradient = c.op == Op::kBatchNormGrad && i == 4;
    auto same = c.SameShape(gradient ? x : vector, c.operand(i),
                            absl::StrCat("operand ", i, " does not fit ", x.ToString()));
    if (!same.ok()) return same.status();
  }
  if (c.op == Op::kBatchNormInference) return One(x);
  return Shapes{x, vector, vector};
}

}  // namespace tektite::ops
