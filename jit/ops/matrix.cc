// Factorizations and solvers of the matrices in an operand's last two dimensions, f32 or f64.
//
//   %l, %ok = cholesky(%a: f32[b,n,n])                         f32[b,n,n], bool[b]
//   %x, %ok = triangular_solve(%a: f32[b,n,n], %y: f32[b,n,k]) {lower=true, transpose_a=false}
//   %x, %ok = solve(%a: f32[b,n,n], %y: f32[b,n,k])            f32[b,n,k], bool[b]
//   %q, %r, %ok = qr(%a: f32[b,m,n]) {full=false}              f32[b,m,p], f32[b,p,n], bool[b]
//   %v, %e, %ok = eigh(%a: f32[b,n,n]) {vectors=true}          f32[b,n], f32[b,n,n], bool[b]
//   %s, %u, %v, %ok = svd(%a: f32[b,m,n]) {vectors=true, full=false}
//   %x, %ok = tridiagonal_solve(%d: f32[b,3,n], %y: f32[b,n,k]) {pivots=true}
//
// p is the lesser of m and n.  cholesky and eigh read the lower triangle alone, triangular_solve
// the one it is told.  A matrix has no answer when it is not positive definite, when a pivot is 0,
// or when the iteration does not converge; the lower triangle that cholesky returns is NaN then.
// Eigenvalues ascend, singular values descend.  The rows of a tridiagonal matrix's operand are the
// diagonal above (its last number is not read), the main one, and the one below (its first number
// is not read).
#include "jit/ops/infer.h"
#include "jit/ops/names.h"

namespace tektite::ops {

namespace {

Dim Lesser(const Dim& m, const Dim& n) { return ir::Min(m, n); }

// The dimensions before the last two, then these.
Shape Matrices(const Shape& like, Dims last, DType dtype) {
  Dims dims(like.dims().begin(), like.dims().end() - 2);
  dims.insert(dims.end(), last.begin(), last.end());
  return Shape(dtype, dims);
}

absl::Status CheckSquare(const InferContext& c) {
  const Shape& a = c.operand(0);
  const int rank = a.rank();
  return c.Same(a.dim(rank - 2), a.dim(rank - 1), "the matrix must be square").status();
}

absl::StatusOr<Shapes> Solution(const InferContext& c, const Dim& n, const Shape& ok) {
  const Shape &a = c.operand(0), &b = c.operand(1);
  if (b.rank() != a.rank() || b.dtype() != a.dtype()) {
    return InvalidArgument("not defined for ", a.ToString(), " and ", b.ToString());
  }
  for (int i = 0; i < a.rank() - 2; ++i) {
    TEKTITE_RETURN_IF_ERROR(c.Same(a.dim(i), b.dim(i), "numbers of matrices differ").status());
  }
  TEKTITE_RETURN_IF_ERROR(c.Same(n, b.dim(b.rank() - 2), "rows differ").status());
  return Shapes{b, ok};
}

absl::StatusOr<Shapes> Svd(const InferContext& c, const Dim& m, const Dim& n, const Shape& ok) {
  const Shape& a = c.operand(0);
  const Dim p = Lesser(m, n);
  const Shape values = Matrices(a, {p}, a.dtype());
  if (!c.attrs.Bool(Attr::vectors)) return Shapes{values, ok};
  const bool full = c.attrs.Bool(Attr::full);
  return Shapes{values, Matrices(a, {m, full ? m : p}, a.dtype()),
                Matrices(a, {n, full ? n : p}, a.dtype()), ok};
}

}  // namespace

absl::StatusOr<Shapes> InferMatrix(const InferContext& c) {
  const Shape& a = c.operand(0);
  if (a.rank() < 2 || (a.dtype() != DType::kF32 && a.dtype() != DType::kF64)) {
    return InvalidArgument("not defined for ", a.ToString());
  }
  const Dim m = a.dim(a.rank() - 2), n = a.dim(a.rank() - 1);
  const Shape ok = Matrices(a, {}, DType::kBool);
  switch (c.op) {
    case Op::kQr: {
      const Dim p = c.attrs.Bool(Attr::full) ? m : Lesser(m, n);
      return Shapes{Matrices(a, {m, p}, a.dtype()), Matrices(a, {p, n}, a.dtype()), ok};
    }
    case Op::kSvd:
      return Svd(c, m, n, ok);
    case Op::kTridiagonalSolve:
      TEKTITE_RETURN_IF_ERROR(c.Same(m, Dim(3), "there must be three diagonals").status());
      return Solution(c, n, ok);
    default:
      break;
  }
  TEKTITE_RETURN_IF_ERROR(CheckSquare(c));
  if (c.op == Op::kCholesky) return Shapes{a, ok};
  if (c.op != Op::kEigh) return Solution(c, n, ok);
  Shapes results = {Matrices(a, {n}, a.dtype()), a, ok};
  if (!c.attrs.Bool(Attr::vectors)) results.erase(results.begin() + 1);
  return results;
}

}  // namespace tektite::ops
