// Rows that belong together by number: segment sums and their like, counts of numbers, and sparse
// tensors made dense.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/gathering.h"
#include "clustering/importer/movement/movement.h"

namespace tektite::importer {
namespace {

absl::string_view ReducerOf(absl::string_view op) {
  if (absl::EndsWith(op, "Prod")) return "mul";
  if (absl::EndsWith(op, "Max")) return "max";
  return absl::EndsWith(op, "Min") ? "min" : "add";
}

// A row for each of x's, so that it may stand before them.
Value Columns(FuncBuilder& b, Value x, const Dims& dims) { return b.BroadcastInDim(x, dims, {0}); }

// Rows of `data` [n, ...] whose numbers `ids` [n] are equal become one; numbers ascend, and their
// last one says how many rows there are.  TensorFlow raises an error where they do not ascend, and
// where there are more of them than rows it is to make room for these itself.
absl::Status ReduceSegments(NodeImport& op, Value data, Value ids) {
  FuncBuilder& b = op.b();
  if (!data || !ids) return op.Return(Value());
  if (ids.shape().rank() != 1 || data.shape().rank() < 1) return op.Refuse("ranks");
  if (!b.AssumeEqual(ids.shape().dim(0), data.shape().dim(0))) return op.Return(Value());
  const Dim n = ids.shape().dim(0);
  const DType dtype = data.dtype();
  const Dims dims = data.shape().dims();
  Value zeros = b.Full(dtype, 0, dims);
  if (n == Dim(0)) return op.ReturnRows(zeros, b.Scalar(DType::kS64, 0));
  ids = b.Convert(ids, DType::kS64);
  Value first = b.SliceDim(ids, 0, Dim(0), Dim(1));
  Value before = b.Concatenate({first, b.SliceDim(ids, 0, Dim(0), n - Dim(1))}, 0);
  op.Check(b.Compare(ids, before, "ge"));
  op.Check(b.Compare(ids, b.FullLike(ids, 0), "ge"));
  Value last = b.Max(b.Reduce(ids, {0}, "max"), b.Scalar(DType::kS64, -1));
  op.Check(b.Compare(last, op.DimValue(n, DType::kS64), "lt"));

  const absl::string_view reducer = ReducerOf(op.op());
  data = b.Convert(data, AccumulatorType(dtype));
  Value identity = b.Scalar(data.dtype(), reducer == "mul" ? 1 : 0);
  if (reducer == "max" || reducer == "min") {
    identity = b.Constant(ops::ReducerIdentity(reducer, data.dtype()));
  }
  Value result = ScatterRows(b, b.BroadcastTo(identity, dims), ids, data, 1, 1, reducer);
  const bool divides = absl::EndsWith(op.op(), "Mean") || absl::EndsWith(op.op(), "SqrtN");
  if (divides || reducer == "max" || reducer == "min") {
    Value ones = b.Full(DType::kS64, 1, {n});
    Value count = ScatterRows(b, b.Full(DType::kS64, 0, {n}), ids, ones, 1, 1, "add");
    if (divides) {
      Value divisor = b.Convert(b.Max(count, b.FullLike(count, 1)), data.dtype());
      if (absl::EndsWith(op.op(), "SqrtN")) divisor = b.Sqrt(divisor);
      result = b.Div(result, Columns(b, divisor, dims));
    } else {
      Value is_empty = b.Compare(count, b.FullLike(count, 0), "eq");
      result = b.Select(Columns(b, is_empty, dims), b.FullLike(result, 0), result);
    }
  }
  return op.ReturnRows(b.Convert(result, dtype), b.Add(last, b.Scalar(DType::kS64, 1)));
}

}  // namespace

absl::Status ImportSegment(NodeImport& op) { return ReduceSegments(op, op.Input(0), op.Input(1)); }

// The same of rows that are taken out of a tensor first.
absl::Status ImportSparseSegment(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value data = op.Input(0), indices = op.Input(1);
  if (!data || !indices) return op.Return(Value());
  const int rank = data.shape().rank();
  if (rank < 1 || indices.shape().rank() != 1) return op.Refuse("ranks");
  TEKTITE_RETURN_IF_ERROR(CheckRange(op, 1, indices, data.shape().dim(0)));
  std::vector<int64_t> others;
  for (int i = 1; i < rank; ++i) others.push_back(i);
  return ReduceSegments(op, Gather(b, data, indices, {0}, others, 1), op.Input(2));
}

// Values at points, or one at all of them, and another number everywhere else.  TensorFlow asks for
// points in ascending order, each once, unless the attribute says otherwise.
absl::Status ImportSparseToDense(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const Dims dims, op.RequireContents(1));
  Value points = op.Input(0), values = op.Input(2), otherwise = op.Input(3);
  if (!points || !values || !otherwise) return op.Return(Value());
  const int rank = static_cast<int>(dims.size());
  if (rank < 1 || points.shape().rank() > 2 || values.shape().rank() > 1 ||
      otherwise.shape().rank() != 0) {
    return op.Refuse("ranks");
  }
  if (points.shape().rank() < 2) {  // of vectors, or a single place
    const Dim n = rank == 1 ? points.shape().NumElements() : Dim(1);
    points = b.Reshape(points, {n, Dim(rank)});
  }
  const Dim n = points.shape().dim(0);
  if (!b.AssumeEqual(points.shape().dim(1), Dim(rank))) return op.Return(Value());
  if (values.shape().rank() == 1 && !b.AssumeEqual(values.shape().dim(0), n)) {
    return op.Return(Value());
  }
  Value dense = b.BroadcastTo(otherwise, dims);
  if (n == Dim(0) || ProvablyEmpty(dims)) {
    return n == Dim(0) ? op.Return(dense) : op.Refuse("a point in an empty tensor");
  }
  TEKTITE_RETURN_IF_ERROR(CheckPoints(op, points, dims, rank));
  if (op.attrs().Bool("validate_indices", true)) {
    Value place = b.Full(DType::kS64, 0, {n});  // row-major, which is their order
    for (int i = 0; i < rank; ++i) {
      Value coordinate = b.Reshape(b.SliceDim(points, 1, Dim(i), Dim(i + 1)), {n});
      Value size = b.BroadcastTo(op.DimValue(dims[i], DType::kS64), {n});
      place = b.Add(b.Mul(place, size), b.Convert(coordinate, DType::kS64));
    }
    op.Check(
        b.Compare(b.SliceDim(place, 0, Dim(0), n - Dim(1)), b.SliceDim(place, 0, Dim(1), n), "lt"));
  }
  values = b.BroadcastTo(values, {n});
  return op.Return(ScatterRows(b, dense, points, values, rank, 1, "replace"));
}

// Negative segment numbers are dropped, too large ones are an error; to XLA's own ops (V2) they are
// none, and are dropped, too.  A segment without rows is the reducer's identity, which for max and
// min is the last finite number.
absl::Status ImportUnsortedSegment(NodeImport& op) {
  FuncBuilder& b = op.b();
  // As many as a tensor has rows that count: there is room for all of its rows.
  const std::optional<Measured> measured = op.InputInfo(2).measured;
  Dims segments;
  if (measured) {
    segments = measured->dims;
  } else {
    TEKTITE_ASSIGN_OR_RETURN(segments, op.RequireContents(2));
  }
  Value data = op.Input(0), ids = op.Input(1);
  if (!data || !ids) return op.Return(Value());
  int ids_rank = ids.shape().rank();
  if (segments.size() != 1 || ids_rank > data.shape().rank()) return op.Refuse("ranks");
  Dims dims = {segments[0]};
  for (int i = ids_rank; i < data.shape().rank(); ++i) dims.push_back(data.shape().dim(i));
  absl::string_view name = op.op();
  if (!absl::ConsumeSuffix(&name, "V2")) {
    const Value limit =
        measured ? b.Convert(measured->rows, ids.dtype()) : op.DimValue(segments[0], ids.dtype());
    op.Check(b.CompareImplicit(ids, limit, "lt"));
  }
  const absl::string_view reducer = ReducerOf(name);
  Value empty = b.Scalar(data.dtype(), reducer == "mul" ? 1 : 0);
  if (reducer == "max" || reducer == "min") empty = LastFinite(b, data.dtype(), reducer == "max");
  const Value sums = ScatterRows(b, b.BroadcastTo(empty, dims), ids, data, 1, ids_rank, reducer);
  return op.ReturnRows(sums, measured ? measured->rows : Value());
}

// How often each number below `size` occurs, in each row of a matrix (Bincount: in all of them), or
// the sum of its weights.
// Larger numbers are left out, negative ones are an error.  Counts are integers until the end, so
// that they stay exact where 24 bits of a float would not do.
absl::Status ImportDenseBincount(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const Dims size, op.RequireContents(1));
  Value numbers = op.Input(0);
  if (!numbers) return op.Return(Value());
  const int rank = numbers.shape().rank();
  const bool is_flat = op.op() == "Bincount";
  if (op.InputRank(1) != 0 || (rank > 2 && !is_flat)) return op.Refuse("ranks");
  if (size[0].is_constant() && size[0].value() < 0) {
    return op.Refuse("size ", size[0].ToString());
  }
  const bool has_weights = !ProvablyEmpty(op.InputDims(2));
  if (has_weights && op.InputRank(2) != rank) return op.Refuse("weights of another rank");
  for (int i = 0; has_weights && i < rank; ++i) {
    b.AssumeEqual(op.InputDims(2)[i], numbers.shape().dim(i));
  }
  const DType dtype = op.InputDType(2);
  const bool binary = op.attrs().Bool("binary_output", false);
  const bool counts = binary || !has_weights;
  Value added = counts ? b.Full(ir::IsFloat(dtype) ? DType::kS64 : dtype, 1, numbers.shape().dims())
                       : op.Input(2);
  if (!op.KnownAll(0, [](int64_t number) { return number >= 0; })) {
    op.Check(b.Compare(numbers, b.FullLike(numbers, 0), "ge"));
  }
  if (!numbers || !added) return op.Return(Value());
  if (rank == 0 || is_flat) {
    const Dims all = {numbers.shape().NumElements()};
    numbers = b.Reshape(numbers, all);
    added = b.Reshape(added, all);
  }
  if (!numbers || !added) return op.Return(Value());
  Dims dims = numbers.shape().dims();
  dims.back() = size[0];
  Value bins = b.Full(added.dtype(), 0, dims);
  if (!ProvablyEmpty(dims) && !ProvablyEmpty(numbers.shape().dims())) {
    const int depth = static_cast<int>(dims.size());
    if (depth > 1) numbers = WithBatchNumbers(b, numbers, 1);
    bins = ScatterRows(b, bins, numbers, added, depth, depth, binary ? "max" : "add");
  }
  return op.Return(b.Convert(bins, dtype));
}

}  // namespace tektite::importer
