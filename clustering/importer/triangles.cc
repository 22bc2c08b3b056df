// Diagonals and bands of matrices, as selections by row and column number.
#include "clustering/importer/import_table.h"

namespace tektite::importer {
namespace {

struct Coordinates {
  Value row, column;
};
Coordinates MatrixCoordinates(FuncBuilder& b, const Dims& dims) {
  int rank = static_cast<int>(dims.size());
  return {b.Iota(DType::kS32, dims, rank - 2), b.Iota(DType::kS32, dims, rank - 1)};
}

// [..., n] -> [..., n + |k|, n + |k|] with x on diagonal k (columns - rows) and `padding`
// elsewhere.
Value DiagonalMatrix(FuncBuilder& b, Value x, int64_t k, Value padding) {
  Dims dims = x.shape().dims();
  int rank = static_cast<int>(dims.size());
  std::vector<int64_t> low(rank, 0), high(rank, 0), places;
  (k > 0 ? low : high).back() = k > 0 ? k : -k;
  if (k != 0) x = b.Pad(x, padding, low, high);  // column j of the result holds x[j - k]
  dims.back() = dims.back() + Dim(k > 0 ? k : -k);
  for (int i = 0; i + 1 < rank; ++i) places.push_back(i);
  places.push_back(rank);
  dims.push_back(dims.back());
  Value spread = b.BroadcastInDim(x, dims, places);
  Coordinates at = MatrixCoordinates(b, dims);
  Value row = b.Add(at.row, b.Full(DType::kS32, static_cast<double>(k), dims));
  Value on_diagonal = b.Compare(row, at.column, "eq");
  return b.Select(on_diagonal, spread, b.BroadcastTo(padding, dims));
}

}  // namespace

absl::Status ImportMatrixDiag(NodeImport& op) {
  if (op.InputRank(0) < 1) return op.Refuse("a scalar has no diagonal");
  FuncBuilder& b = op.b();
  int64_t k = 0;
  Value padding = b.Scalar(op.InputDType(0), 0);
  if (op.op() == "MatrixDiagV3") {
    if (op.InputRank(1) != 0) return op.Refuse("several diagonals");
    TEKTITE_ASSIGN_OR_RETURN(k, op.RequireInt(1));
    TEKTITE_ASSIGN_OR_RETURN(int64_t rows, op.RequireInt(2));
    TEKTITE_ASSIGN_OR_RETURN(int64_t columns, op.RequireInt(3));
    Dim size = op.InputDims(0).back() + Dim(k > 0 ? k : -k);
    if ((rows != -1 && Dim(rows) != size) || (columns != -1 && Dim(columns) != size)) {
      return op.Refuse("a matrix that is larger than its diagonal");
    }
    padding = op.Input(4);
  }
  Value x = op.Input(0);
  return op.Return(x ? DiagonalMatrix(b, x, k, padding) : x);
}

// diagonal[i..., j...] of shape [d..., d...]: a diagonal matrix of the flattened input.
absl::Status ImportDiag(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  Dims dims = x.shape().dims();
  Value matrix =
      DiagonalMatrix(b, b.Reshape(x, {x.shape().NumElements()}), 0, b.Scalar(x.dtype(), 0));
  Dims twice = dims;
  twice.insert(twice.end(), dims.begin(), dims.end());
  return op.Return(b.Reshape(matrix, twice));
}

// Keeps the elements with row - column <= lower and column - row <= upper; negative: no bound.
absl::Status ImportMatrixBandPart(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(int64_t lower, op.RequireInt(1));
  TEKTITE_ASSIGN_OR_RETURN(int64_t upper, op.RequireInt(2));
  if (op.InputRank(0) < 2) return op.Refuse("not a matrix");
  if (lower < 0 && upper < 0) return op.Forward(0);
  FuncBuilder& b = op.b();
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  const Dims& dims = x.shape().dims();
  Coordinates at = MatrixCoordinates(b, dims);
  Value distance = b.Sub(at.column, at.row), keep;
  if (lower >= 0) {
    Value bound = b.Full(DType::kS32, static_cast<double>(-lower), dims);
    keep = b.Compare(distance, bound, "ge");
  }
  if (upper >= 0) {
    Value bound = b.Full(DType::kS32, static_cast<double>(upper), dims);
    Value below = b.Compare(distance, bound, "le");
    keep = keep ? b.Binary(Op::kAnd, keep, below) : below;
  }
  return op.Return(b.Select(keep, x, b.FullLike(x, 0)));
}

}  // namespace tektite::importer
