// Discrete Fourier transforms of f32 or f64 along one dimension.
//
//   %r, %i = fft(%re: f32[8,100], %im: f32[8,100]) {dimension=1, inverse=false}
//   %r, %i = real_fft(%x: f32[8,100]) {dimension=1}                  f32[8,51], f32[8,51]
//   %x = inverse_real_fft(%re: f32[8,51], %im: f32[8,51]) {dimension=1, shape=(100)}
//
// The forward transform of n numbers is X[k] = sum of x[j] exp(-2 pi i j k / n); the inverse has
// the other sign, and divides by n.  Of a real tensor's transform the first n / 2 + 1 numbers tell
// all.  The way back takes the others to be their mirror image, so that it ignores the imaginary
// part of the first and, for an even n, of the last.
#include "jit/ops/infer.h"
#include "jit/ops/names.h"

namespace tektite::ops {

namespace {

Dim HalfOf(const Dim& n) { return ir::FloorDiv(n, Dim(2)) + Dim(1); }

}  // namespace

absl::StatusOr<Shapes> InferSpectrum(const InferContext& c) {
  const Shape& x = c.operand(0);
  if (x.dtype() != DType::kF32 && x.dtype() != DType::kF64) {
    return InvalidArgument("not defined for ", x.ToString());
  }
  TEKTITE_ASSIGN_OR_RETURN(const int64_t at, c.DimNumber(Attr::dimension, x.rank()));
  const int dimension = static_cast<int>(at);
  if (c.op == ir::Op::kRealFft) {
    Shape half = x;
    half.set_dim(dimension, HalfOf(x.dim(dimension)));
    return Shapes{half, half};
  }
  TEKTITE_ASSIGN_OR_RETURN(Shape both, c.SameShape(x, c.operand(1), "the parts differ"));
  if (c.op == ir::Op::kFft) return Shapes{both, both};
  TEKTITE_ASSIGN_OR_RETURN(Dims length, c.GetSizes(Attr::shape));
  if (length.size() != 1) return InvalidArgument("shape must have one dimension");
  TEKTITE_RETURN_IF_ERROR(
      c.Same(both.dim(dimension), HalfOf(length[0]), "there must be n / 2 + 1 numbers").status());
  both.set_dim(dimension, length[0]);
  return One(both);
}

}  // namespace tektite::ops
