// Ops that back ends hand to a library.
//
// fft has no complex type to work on: the last dimension, of size 2, holds real and imaginary part,
// and `fft_length` are the sizes of the dimensions before it that are transformed; direction is
// "forward" or "inverse" (scaled by 1 / n).  cholesky reads and writes the triangle `lower` says
// and zeroes the other.  triangular_solve(a, b) solves a x = b, or x a = b without left_side, with
// a transposed where transpose_a says so.
#include "absl/strings/str_cat.h"
#include "jit/ops/infer.h"

namespace tektite::ops {

using ir::Attr;
using ir::Dim;
using ir::Op;
using ir::Shape;

namespace {

absl::Status CheckSquare(const InferContext& c, const Shape& a) {
  const int rank = a.rank();
  if (rank < 2 || !ir::IsFloat(a.dtype())) return InvalidArgument("not defined for ", a.ToString());
  return c.Same(a.dim(rank - 2), a.dim(rank - 1), "the matrices are not square").status();
}

absl::StatusOr<Shapes> Fft(const InferContext& c) {
  const Shape& x = c.operand(0);
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> length, c.Ints(Attr::fft_length));
  const int n = static_cast<int>(length.size());
  const std::string& direction = c.attrs.String(Attr::direction);
  if (direction != "forward" && direction != "inverse") {
    return InvalidArgument("direction must be forward or inverse, got '", direction, "'");
  }
  if (!ir::IsFloat(x.dtype()) || n < 1 || x.rank() < n + 1 || x.dim(x.rank() - 1) != Dim(2)) {
    return InvalidArgument("needs floats with a last dimension of 2 (real, imaginary) after ", n,
                           " transformed ones, got ", x.ToString());
  }
  for (int i = 0; i < n; ++i) {
    auto same = c.Same(x.dim(x.rank() - 1 - n + i), Dim(length[i]),
                       absl::StrCat("fft_length and ", x.ToString(), " differ"));
    if (!same.ok()) return same.status();
  }
  return One(x);
}

absl::StatusOr<Shapes> TriangularSolve(const InferContext& c) {
  const Shape &a = c.operand(0), &b = c.operand(1);
  TEKTITE_RETURN_IF_ERROR(CheckSquare(c, a));
  const int rank = a.rank();
  Shape expected = b;
  if (b.rank() == rank) {
    for (int i = 0; i < rank - 2; ++i) expected.set_dim(i, a.dim(i));
    expected.set_dim(c.attrs.Bool(Attr::left_side, true) ? rank - 2 : rank - 1, a.dim(rank - 1));
  }
  if (b.rank() != rank || a.dtype() != b.dtype()) {
    return InvalidArgument("not defined for ", a.ToString(), " and ", b.ToString());
  }
  TEKTITE_ASSIGN_OR_RETURN(Shape result,
                           c.SameShape(expected, b, absl::StrCat("b does not fit ", a.ToString())));
  return One(result);
}

}  // namespace

absl::StatusOr<Shapes> InferLibrary(const InferContext& c) {
  switch (c.op) {
    case Op::kCholesky:
      TEKTITE_RETURN_IF_ERROR(CheckSquare(c, c.operand(0)));
      return One(c.operand(0));
    case Op::kFft:
      return Fft(c);
    case Op::kTriangularSolve:
      return TriangularSolve(c);
    default:
      return Internal("no library op");
  }
}

}  // namespace tektite::ops
