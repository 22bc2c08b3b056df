// Diagonals and bands of matrices, as selections by row and column number.
#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/gathering.h"

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
  if (!x) return x;
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

// Diagonal k of a matrix: 0 where there is no such input.
absl::StatusOr<int64_t> RequireDiagonal(const NodeImport& op, int input) {
  if (input >= op.num_inputs()) return 0;
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> k, op.RequireInts(input));
  if (k.size() != 1 && !(k.size() == 2 && k[0] == k[1])) return op.Refuse("several diagonals");
  return k[0];
}

// How many elements diagonal k of a matrix has.
absl::StatusOr<Dim> DiagonalLength(const NodeImport& op, const Dims& matrix, int64_t k) {
  const Dim rows = matrix[matrix.size() - 2] + Dim(k < 0 ? k : 0);
  const Dim columns = matrix.back() - Dim(k > 0 ? k : 0);
  const Dim length = rows == columns ? rows : ir::Min(rows, columns);
  if (length.is_constant() && length.value() < 1 && k != 0) return op.Refuse("no such diagonal");
  if (!length.is_constant() && k != 0) return op.Refuse("a diagonal that may not be there");
  return length;
}

}  // namespace

// Element i of the result is matrix[..., i - min(k, 0), i + max(k, 0)].
absl::Status ImportMatrixDiagPart(NodeImport& op) {
  if (op.InputRank(0) < 2) return op.Refuse("not a matrix");
  TEKTITE_ASSIGN_OR_RETURN(int64_t k, RequireDiagonal(op, 1));
  const Dims dims = op.InputDims(0);
  TEKTITE_ASSIGN_OR_RETURN(Dim length, DiagonalLength(op, dims, k));
  FuncBuilder& b = op.b();
  const int rank = op.InputRank(0);
  auto numbers = [&](int64_t first) {
    Value count = b.Iota(DType::kS64, {length, Dim(1)}, 0);
    return b.Add(count, b.FullLike(count, static_cast<double>(first)));
  };
  Value points = b.Concatenate({numbers(k < 0 ? -k : 0), numbers(k > 0 ? k : 0)}, 1);
  std::vector<int64_t> batch;
  for (int i = 0; i + 2 < rank; ++i) batch.push_back(i);
  return op.Return(Gather(b, op.Input(0), points, {rank - 2, rank - 1}, batch, 1));
}

// The matrix with the other input on diagonal k.
absl::Status ImportMatrixSetDiag(NodeImport& op) {
  if (op.InputRank(0) < 2) return op.Refuse("not a matrix");
  if (op.InputRank(1) != op.InputRank(0) - 1) return op.Refuse("several diagonals");
  TEKTITE_ASSIGN_OR_RETURN(int64_t k, RequireDiagonal(op, 2));
  FuncBuilder& b = op.b();
  Value matrix = op.Input(0), diagonal = op.Input(1);
  if (!matrix || !diagonal) return op.Return(Value());
  const Dims dims = matrix.shape().dims();
  const int rank = matrix.shape().rank();
  TEKTITE_ASSIGN_OR_RETURN(Dim length, DiagonalLength(op, dims, k));
  if (!b.AssumeEqual(length, diagonal.shape().dim(rank - 2))) return op.Return(Value());
  for (int i = 0; i < rank - 2; ++i) {
    if (!b.AssumeEqual(dims[i], diagonal.shape().dim(i))) return op.Return(Value());
  }
  // The shorter side numbers the diagonal's elements: rows above the main one, columns below it.
  const int side = k >= 0 ? rank - 2 : rank - 1;
  const Dim missing = dims[side] - length;
  if (!missing.is_constant()) return op.Refuse("a matrix that is not square");
  std::vector<int64_t> low(rank - 1, 0), high(rank - 1, 0), places;
  high.back() = missing.value();
  if (missing != Dim(0)) diagonal = b.Pad(diagonal, b.Scalar(matrix.dtype(), 0), low, high);
  for (int i = 0; i < rank - 2; ++i) places.push_back(i);
  places.push_back(side);
  Coordinates at = MatrixCoordinates(b, dims);
  Value row = b.Add(at.row, b.Full(DType::kS32, static_cast<double>(k), dims));
  return op.Return(
      b.Select(b.Compare(row, at.column, "eq"), b.BroadcastInDim(diagonal, dims, places), matrix));
}

absl::Status ImportMatrixDiag(NodeImport& op) {
  if (op.InputRank(0) < 1) return op.Refuse("a scalar has no diagonal");
  FuncBuilder& b = op.b();
  int64_t k = 0;
  Value padding = b.Scalar(op.InputDType(0), 0);
  if (op.op() != "MatrixDiag") {
    if (op.InputRank(1) != 0) return op.Refuse("several diagonals");
    TEKTITE_ASSIGN_OR_RETURN(k, op.RequireInt(1));
    TEKTITE_ASSIGN_OR_RETURN(int64_t rows, op.RequireInt(2));
    TEKTITE_ASSIGN_OR_RETURN(int64_t columns, op.RequireInt(3));
    Dim size = op.InputDims(0).back() + Dim(k > 0 ? k : -k);
    if ((rows != -1 && Dim(rows) != size) || (columns != -1 && Dim(columns) != size)) {
      return op.Refuse("a matrix that is larger than its diagonal");
    }
    TEKTITE_RETURN_IF_ERROR(op.RequireScalar(4));
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

// x[d..., d...] -> its elements [d...] at places that are the same twice.
absl::Status ImportDiagPart(NodeImport& op) {
  FuncBuilder& b = op.b();
  const Dims& twice = op.InputDims(0);
  const size_t half = twice.size() / 2;
  if (twice.empty() || twice.size() % 2 != 0) return op.Refuse("rank ", twice.size());
  const Dims dims(twice.begin(), twice.begin() + half);
  for (size_t i = 0; i < half; ++i) {
    if (!b.AssumeEqual(dims[i], twice[half + i])) return op.Return(Value());
  }
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  const Dim n = Shape(x.dtype(), dims).NumElements();
  Value places = b.Iota(DType::kS64, {n, Dim(2)}, 0);
  return op.Return(b.Reshape(Gather(b, b.Reshape(x, {n, n}), places, {0, 1}, {}, 1), dims));
}

// Keeps the elements with row - column <= lower and column - row <= upper; negative: no bound.
// TensorFlow refuses bounds beyond the matrix.
absl::Status ImportMatrixBandPart(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(int64_t lower, op.RequireInt(1));
  TEKTITE_ASSIGN_OR_RETURN(int64_t upper, op.RequireInt(2));
  if (op.InputRank(0) < 2) return op.Refuse("not a matrix");
  if (lower < 0 && upper < 0) return op.Forward(0);
  FuncBuilder& b = op.b();
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  const Dims& dims = x.shape().dims();
  const Dim rows = dims[dims.size() - 2], columns = dims.back();
  if (!b.AssumeAtMost(Dim(lower), rows) || !b.AssumeAtMost(Dim(upper), columns)) {
    return op.Return(Value());
  }
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
