// Matrix products.
#include <algorithm>

#include "clustering/importer/import_table.h"
#include "clustering/importer/layers/fused_ops.h"
#include "clustering/importer/movement/movement.h"

namespace tektite::importer {
namespace {

// The batch dimensions of both operands by NumPy's rules.
absl::StatusOr<Dims> BroadcastBatch(NodeImport& op, const Dims& a, const Dims& b) {
  size_t rank = std::max(a.size(), b.size());
  Dims result(rank, Dim(1));
  for (size_t i = 0; i < rank; ++i) {
    Dim x = i + a.size() < rank ? Dim(1) : a[i + a.size() - rank];
    Dim y = i + b.size() < rank ? Dim(1) : b[i + b.size() - rank];
    if (x != Dim(1) && y != Dim(1) && !op.b().AssumeEqual(x, y)) {
      return op.Refuse("batch sizes ", x.ToString(), " and ", y.ToString());
    }
    result[i] = x == Dim(1) ? y : x;
  }
  return result;
}

Dims BatchOf(const Dims& dims) { return Dims(dims.begin(), dims.end() - 2); }

// The first version of the op does not broadcast.
absl::Status RequireSameBatch(NodeImport& op) {
  const Dims &x = op.InputDims(0), &y = op.InputDims(1);
  bool same = x.size() == y.size();
  for (size_t i = 0; same && i + 2 < x.size(); ++i) same = op.b().AssumeEqual(x[i], y[i]);
  return same ? absl::OkStatus() : op.Refuse("batch sizes");
}

Value WithBatch(FuncBuilder& b, Value x, Dims batch) {
  const Dims& dims = x.shape().dims();
  batch.insert(batch.end(), dims.end() - 2, dims.end());
  return b.BroadcastTo(x, batch);
}

// Rows of a batch times one matrix: a single product of all rows.
Value RowsTimesMatrix(FuncBuilder& b, Value lhs, Value rhs, bool transpose_rhs) {
  Dims dims = lhs.shape().dims();
  int rank = static_cast<int>(dims.size());
  const Dims& r = rhs.shape().dims();
  Value matrix = b.Reshape(rhs, {r[r.size() - 2], r[r.size() - 1]});
  Value rows = b.Reshape(lhs, {ProductOf(dims, 0, rank - 1), dims[rank - 1]});
  dims[rank - 1] = transpose_rhs ? r[r.size() - 2] : r[r.size() - 1];
  return b.Reshape(b.MatMul(rows, matrix, false, transpose_rhs), dims);
}

absl::StatusOr<Value> BatchProduct(NodeImport& op, Value lhs, Value rhs, bool transpose_lhs,
                                   bool transpose_rhs) {
  FuncBuilder& b = op.b();
  int lhs_rank = lhs.shape().rank(), rhs_rank = rhs.shape().rank();
  if (lhs_rank < 2 || rhs_rank < 2) return op.Refuse("operands of rank 2 or more, please");
  Dims lhs_batch = BatchOf(lhs.shape().dims()), rhs_batch = BatchOf(rhs.shape().dims());
  bool one_matrix =
      std::all_of(rhs_batch.begin(), rhs_batch.end(), [](const Dim& d) { return d == Dim(1); });
  if (one_matrix && !transpose_lhs && lhs_rank > 2 && lhs_rank >= rhs_rank) {
    return RowsTimesMatrix(b, lhs, rhs, transpose_rhs);
  }
  TEKTITE_ASSIGN_OR_RETURN(Dims batch, BroadcastBatch(op, lhs_batch, rhs_batch));
  lhs = WithBatch(b, lhs, batch);
  rhs = WithBatch(b, rhs, batch);
  return b.MatMul(lhs, rhs, transpose_lhs, transpose_rhs);
}

absl::StatusOr<Value> Product(NodeImport& op) {
  Value lhs = op.Input(0), rhs = op.Input(1);
  if (!lhs || !rhs) return Value();
  if (op.InputRank(0) != 2 || op.InputRank(1) != 2) return op.Refuse("not a matrix");
  return op.b().MatMul(lhs, rhs, op.attrs().Bool("transpose_a", false),
                       op.attrs().Bool("transpose_b", false));
}

}  // namespace

absl::Status ImportMatMul(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Value y, Product(op));
  return op.Return(y);
}

// Of f32 or bf16 operands, in f32: TensorFlow looks for zeros in one of them, which it assumes to
// be many.
absl::Status ImportSparseMatMul(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value lhs = op.Input(0), rhs = op.Input(1);
  if (!lhs || !rhs) return op.Return(Value());
  if (op.InputRank(0) != 2 || op.InputRank(1) != 2) return op.Refuse("not a matrix");
  return op.Return(b.MatMul(b.Convert(lhs, DType::kF32), b.Convert(rhs, DType::kF32),
                            op.attrs().Bool("transpose_a", false),
                            op.attrs().Bool("transpose_b", false)));
}

absl::Status ImportFusedMatMul(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Value y, Product(op));
  TEKTITE_ASSIGN_OR_RETURN(y, ApplyFusedOps(op, y, 1, 2));
  return op.Return(y);
}

absl::Status ImportBatchMatMul(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value lhs = op.Input(0), rhs = op.Input(1);
  if (!lhs || !rhs) return op.Return(Value());
  TEKTITE_ASSIGN_OR_RETURN(DType result_type, op.Type("Tout", lhs.dtype()));
  bool adj_x = op.attrs().Bool("adj_x", false), adj_y = op.attrs().Bool("adj_y", false);
  if (op.op() == "BatchMatMul") TEKTITE_RETURN_IF_ERROR(RequireSameBatch(op));
  TEKTITE_ASSIGN_OR_RETURN(Value y, BatchProduct(op, b.Convert(lhs, result_type),
                                                 b.Convert(rhs, result_type), adj_x, adj_y));
  return op.Return(y);
}

// BatchMatMul, then "Mul" by a scalar and "Add" of a mask, as oneDNN builds fuse attention scores.
absl::Status ImportFusedBatchMatMul(NodeImport& op) {
  Value lhs = op.Input(0), rhs = op.Input(1);
  if (!lhs || !rhs) return op.Return(Value());
  bool adj_x = op.attrs().Bool("adj_x", false), adj_y = op.attrs().Bool("adj_y", false);
  TEKTITE_ASSIGN_OR_RETURN(Value y, BatchProduct(op, lhs, rhs, adj_x, adj_y));
  if (!y) return op.Return(y);
  TEKTITE_ASSIGN_OR_RETURN(y, ApplyFusedOps(op, y, y.shape().rank() - 1, 2));
  return op.Return(y);
}

}  // namespace tektite::importer
