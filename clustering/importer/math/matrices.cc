// Factorizations and solvers of matrices.  Where a matrix has no answer, TensorFlow's kernel runs:
// it raises an error, or has an answer of its own.
#include <algorithm>

#include "clustering/importer/import_table.h"

namespace tektite::importer {
namespace {

using ir::Attr;
using ir::Attributes;

// All results but the last, which is checked.
absl::StatusOr<std::vector<Value>> Checked(NodeImport& op, Op matrix_op,
                                           absl::Span<const Value> operands,
                                           Attributes attrs = {}) {
  for (Value operand : operands) {
    if (!operand) return op.Return(operand);
  }
  std::vector<Value> results = op.b().AddMulti(matrix_op, operands, std::move(attrs));
  if (results.empty()) return op.Return(Value());
  op.Check(results.back());
  results.pop_back();
  return results;
}

absl::Status CheckRank(const NodeImport& op, int i) {
  return op.InputRank(i) < 2 ? op.Refuse("rank ", op.InputRank(i)) : absl::OkStatus();
}

Value Transposed(FuncBuilder& b, Value x) {
  if (!x) return x;
  std::vector<int64_t> order;
  for (int i = 0; i < x.shape().rank(); ++i) order.push_back(i);
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return b.Transpose(x, order);
}

// Every matrix's identity.
Value IdentityLike(FuncBuilder& b, Value x) {
  const Dims& dims = x.shape().dims();
  const int rank = x.shape().rank();
  const Value diagonal =
      b.Compare(b.Iota(DType::kS32, dims, rank - 2), b.Iota(DType::kS32, dims, rank - 1), "eq");
  return b.Convert(diagonal, x.dtype());
}

// Both with the batch dimensions of both.
absl::Status BroadcastBatches(NodeImport& op, Value* x, Value* y) {
  size_t rank = 0;
  for (const Value v : {*x, *y}) rank = std::max<size_t>(rank, v.shape().rank());
  Dims batch;
  for (size_t i = 0; i + 2 < rank; ++i) {
    Dim size(1);
    for (const Value v : {*x, *y}) {
      const size_t missing = rank - v.shape().rank();
      const Dim d = i < missing ? Dim(1) : v.shape().dim(static_cast<int>(i - missing));
      if (d == Dim(1)) continue;
      if (size != Dim(1) && !op.b().AssumeEqual(size, d)) return op.Refuse("batch sizes");
      size = d;
    }
    batch.push_back(size);
  }
  for (Value* v : {x, y}) {
    Dims dims = batch;
    dims.insert(dims.end(), v->shape().dims().end() - 2, v->shape().dims().end());
    *v = op.b().BroadcastTo(*v, dims);
  }
  return absl::OkStatus();
}

// What stands for vectors that are not computed.
Value Nothing(NodeImport& op) { return op.b().Full(op.InputDType(0), 0, {Dim(0)}); }

}  // namespace

absl::Status ImportCholesky(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(CheckRank(op, 0));
  const Value a = op.Input(0);
  if (!a) return op.Return(a);
  const std::vector<Value> l_and_ok = op.b().AddMulti(Op::kCholesky, {a});
  return op.Return(l_and_ok.empty() ? Value() : l_and_ok[0]);  // NaN, as TensorFlow's
}

absl::Status ImportMatrixInverse(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(CheckRank(op, 0));
  Value a = op.Input(0);
  if (!a) return op.Return(a);
  if (op.attrs().Bool("adjoint", false)) a = Transposed(op.b(), a);
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<Value> x,
                           Checked(op, Op::kSolve, {a, IdentityLike(op.b(), a)}));
  return op.Return(x);
}

absl::Status ImportMatrixSolve(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(CheckRank(op, 0));
  Value a = op.Input(0);
  if (op.attrs().Bool("adjoint", false)) a = Transposed(op.b(), a);
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<Value> x, Checked(op, Op::kSolve, {a, op.Input(1)}));
  return op.Return(x);
}

absl::Status ImportMatrixTriangularSolve(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(CheckRank(op, 0));
  TEKTITE_RETURN_IF_ERROR(CheckRank(op, 1));
  Value a = op.Input(0), y = op.Input(1);
  if (!a || !y) return op.Return(Value());
  TEKTITE_RETURN_IF_ERROR(BroadcastBatches(op, &a, &y));
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<Value> x,
                           Checked(op, Op::kTriangularSolve, {a, y},
                                   {{Attr::lower, op.attrs().Bool("lower", true)},
                                    {Attr::transpose_a, op.attrs().Bool("adjoint", false)}}));
  return op.Return(x);
}

absl::Status ImportQr(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(CheckRank(op, 0));
  const bool full = op.attrs().Bool("full_matrices", false);
  TEKTITE_ASSIGN_OR_RETURN(const std::vector<Value> q_and_r,
                           Checked(op, Op::kQr, {op.Input(0)}, {{Attr::full, full}}));
  return op.Return(q_and_r);
}

absl::Status ImportSelfAdjointEig(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(CheckRank(op, 0));
  const bool vectors = op.attrs().Bool("compute_v", true);
  TEKTITE_ASSIGN_OR_RETURN(std::vector<Value> results,
                           Checked(op, Op::kEigh, {op.Input(0)}, {{Attr::vectors, vectors}}));
  if (!vectors) results.push_back(Nothing(op));
  return op.Return(results);
}

absl::Status ImportSvd(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(CheckRank(op, 0));
  const bool vectors = op.attrs().Bool("compute_uv", true);
  const bool full = op.attrs().Bool("full_matrices", false);
  TEKTITE_ASSIGN_OR_RETURN(
      std::vector<Value> results,
      Checked(op, Op::kSvd, {op.Input(0)}, {{Attr::full, full}, {Attr::vectors, vectors}}));
  while (results.size() < 3) results.push_back(Nothing(op));
  return op.Return(results);
}

absl::Status ImportTridiagonalSolve(NodeImport& op) {
  TEKTITE_RETURN_IF_ERROR(CheckRank(op, 0));
  if (op.attrs().Bool("perturb_singular", false)) return op.Refuse("perturb_singular");
  const bool pivots = op.attrs().Bool("partial_pivoting", true);
  TEKTITE_ASSIGN_OR_RETURN(
      const std::vector<Value> x,
      Checked(op, Op::kTridiagonalSolve, {op.Input(0), op.Input(1)}, {{Attr::pivots, pivots}}));
  return op.Return(x);
}

// Each row takes its own number, the one above and the one below.
absl::Status ImportTridiagonalMatMul(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value x = op.Input(3);
  std::vector<Value> diagonals;  // above, main, below, as columns
  for (int i = 0; i < 3; ++i) {
    TEKTITE_RETURN_IF_ERROR(CheckRank(op, i));
    if (op.InputRank(i) != op.InputRank(3)) return op.Refuse("diagonals of another rank");
    diagonals.push_back(Transposed(b, op.Input(i)));
    if (!diagonals.back() || !x) return op.Return(Value());
  }
  const int rows = x.shape().rank() - 2;
  const Dim n = x.shape().dim(rows);
  for (const Value diagonal : diagonals) {  // of one column, which serves all of x's
    for (int i = 0; i < rows + 2; ++i) {
      const Dim& size = i == rows + 1 ? Dim(1) : x.shape().dim(i);
      if (!b.AssumeEqual(diagonal.shape().dim(i), size)) return op.Return(Value());
    }
  }
  if (n.is_constant() && n.value() < 1) return op.Refuse("no rows");
  const auto product = [&](Value diagonal, int64_t from, int64_t shift) {
    const Dim first(from), last = n - Dim(1 - from);
    const Value numbers = b.SliceDim(x, rows, first + Dim(shift), last + Dim(shift));
    return b.Mul(b.SliceDim(diagonal, rows, first, last), numbers);
  };
  std::vector<int64_t> none(rows + 2, 0), one = none;
  one[rows] = 1;
  const Value zero = b.Scalar(x.dtype(), 0);
  const Value above = b.Pad(product(diagonals[0], 0, 1), zero, none, one);
  const Value below = b.Pad(product(diagonals[2], 1, -1), zero, one, none);
  return op.Return(b.Add(b.Add(b.Mul(diagonals[1], x), above), below));
}

}  // namespace tektite::importer
