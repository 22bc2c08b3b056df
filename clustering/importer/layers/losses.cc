// Softmax and the cross entropies.
#include "clustering/importer/import_table.h"

namespace tektite::importer {
namespace {

// Rows of logits, less their largest element, and what follows from it.
struct Rows {
  Value shifted, exponentials, sums;  // sums: the last dimension kept as 1
};

Rows Exponentiate(FuncBuilder& b, Value logits) {
  Rows rows;
  if (!logits) return rows;
  std::vector<int64_t> last = {logits.shape().rank() - 1};
  rows.shifted = b.Sub(logits, b.ReduceKeep(logits, last, "max"));
  rows.exponentials = b.Exp(rows.shifted);
  rows.sums = b.ReduceKeep(rows.exponentials, last, "add");
  return rows;
}

// e^x times the reciprocal of the sum, which is how TensorFlow divides.
Value Probabilities(FuncBuilder& b, const Rows& rows) {
  if (!rows.sums) return Value();
  return b.Mul(rows.exponentials, b.Div(b.FullLike(rows.sums, 1), rows.sums));
}

}  // namespace

absl::Status ImportSoftmax(NodeImport& op) {
  FuncBuilder& b = op.b();
  if (op.InputRank(0) < 1) return op.Refuse("a scalar");
  DType dtype = op.InputDType(0);
  Rows rows = Exponentiate(b, b.Convert(op.Input(0), AccumulatorType(dtype)));
  Value y = op.op() == "Softmax" ? Probabilities(b, rows) : b.Sub(rows.shifted, b.Log(rows.sums));
  return op.Return(b.Convert(y, dtype));
}

// loss = sum(labels * (log(sum e^x) - x)), gradient = softmax - labels.  Both operands broadcast.
absl::Status ImportSoftmaxCrossEntropy(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value logits = op.Input(0), labels = op.Input(1);
  if (op.InputRank(0) != 2 || op.InputRank(1) != 2) return op.Refuse("not a matrix");
  if (!logits || !labels) return op.Return(Value());
  Value both = b.Add(logits, labels);  // only for its shape
  if (!both) return op.Return(both);
  const Dims dims = both.shape().dims();
  if (dims[1] == Dim(0)) return op.Refuse("no classes");
  DType dtype = logits.dtype(), wide = AccumulatorType(dtype);
  Rows rows = Exponentiate(b, b.Convert(b.BroadcastTo(logits, dims), wide));
  labels = b.Convert(b.BroadcastTo(labels, dims), wide);
  Value terms = b.Mul(labels, b.Sub(b.Log(rows.sums), rows.shifted));
  TEKTITE_RETURN_IF_ERROR(op.Return(b.Convert(b.Reduce(terms, {1}, "add"), dtype)));
  return op.Return(b.Convert(b.Sub(Probabilities(b, rows), labels), dtype));
}

// The same with one label number a row; a number out of range is an error in TensorFlow.
absl::Status ImportSparseSoftmaxCrossEntropy(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value logits = op.Input(0), labels = op.Input(1);
  if (op.InputRank(0) != 2 || op.InputRank(1) != 1) return op.Refuse("ranks");
  if (!logits || !labels) return op.Return(Value());
  const Dims dims = logits.shape().dims();
  if (dims[1] == Dim(0)) return op.Refuse("no classes");
  if (!b.AssumeEqual(labels.shape().dim(0), dims[0])) return op.Return(Value());
  DType dtype = logits.dtype(), wide = AccumulatorType(dtype);
  Value below = b.CompareImplicit(labels, op.DimValue(dims[1], labels.dtype()), "lt");
  op.Check(b.Binary(Op::kAnd, below, b.Compare(labels, b.FullLike(labels, 0), "ge")));
  Rows rows = Exponentiate(b, b.Convert(logits, wide));
  Value hit = b.Compare(b.BroadcastInDim(labels, dims, {0}), b.Iota(labels.dtype(), dims, 1), "eq");
  Value terms = b.Sub(b.Log(rows.sums), rows.shifted);
  if (!terms || !hit) return op.Return(Value());
  Value loss = b.Reduce(b.Select(hit, terms, b.FullLike(terms, 0)), {1}, "add");
  TEKTITE_RETURN_IF_ERROR(op.Return(b.Convert(loss, dtype)));
  Value gradient = b.Sub(Probabilities(b, rows), b.Convert(hit, wide));
  return op.Return(b.Convert(gradient, dtype));
}

}  // namespace tektite::importer
