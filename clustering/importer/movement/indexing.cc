// Indexed reads and writes: gather, scatter, one-hot.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/gathering.h"
#include "clustering/importer/movement/movement.h"

namespace tektite::importer {
namespace {

using ir::Attr;

std::vector<int64_t> Count(int from, int to) {
  std::vector<int64_t> numbers(to > from ? to - from : 0);
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

Dims WithOnesAt(Dims dims, const std::vector<int64_t>& places) {
  for (int64_t i : places) dims[i] = Dim(1);
  return dims;
}

// Where the indices are a vector of the places at which a mask of as many elements as params has
// rows is true: the mask. tf.boolean_mask is that; places as tf.where has them, [rows, 1], make a
// result of one more dimension.
Value MaskOf(Value indices, Value params) {
  if (indices.shape().rank() != 1) return Value();
  while (indices.node->op() == Op::kReshape) indices = indices.node->operand(0);
  if (indices.node->op() != Op::kNonzero || params.shape().rank() == 0) return Value();
  Value mask = indices.node->operand(0);
  const Shape& shape = mask.shape();
  return shape.rank() == 1 && shape.dim(0) == params.shape().dim(0) ? mask : Value();
}

// 0, 1, 2, ... in a range that ends at `limit` or before.
bool CountsBelow(Value indices, const Dim& limit) {
  if (indices.node->op() != Op::kIota) return false;
  const Dim& last = indices.shape().dim(static_cast<int>(indices.node->Int(Attr::dimension)));
  return last == limit ||
         (last.is_constant() && limit.is_constant() && last.value() <= limit.value());
}

}  // namespace

bool ProvablyEmpty(const Dims& dims) {
  for (const Dim& d : dims) {
    if (d == Dim(0)) return true;
  }
  return false;
}

absl::Status CheckRange(NodeImport& op, int input, Value indices, const Dim& limit) {
  if (!indices) return op.Refuse(op.b().status().message());
  if (ProvablyEmpty(indices.shape().dims())) return absl::OkStatus();
  if (limit == Dim(0)) return op.Refuse("a row of an empty dimension");
  if (CountsBelow(indices, limit)) return absl::OkStatus();
  if (limit.is_constant() &&
      op.KnownAll(input, [&](int64_t i) { return i >= 0 && i < limit.value(); })) {
    return absl::OkStatus();
  }
  FuncBuilder& b = op.b();
  Value below = b.CompareImplicit(indices, op.DimValue(limit, indices.dtype()), "lt");
  op.Check(b.Binary(Op::kAnd, b.Compare(indices, b.FullLike(indices, 0), "ge"), below));
  return absl::OkStatus();
}

absl::Status CheckPoints(NodeImport& op, Value indices, const Dims& dims, int depth) {
  if (ProvablyEmpty(indices.shape().dims())) return absl::OkStatus();
  if (ProvablyEmpty(dims)) return op.Refuse("a point in an empty tensor");
  FuncBuilder& b = op.b();
  const Dims limits(dims.begin(), dims.begin() + depth);
  for (size_t i = depth; i < dims.size(); ++i) b.AssumeAtMost(Dim(1), dims[i]);
  TensorInfo sizes;
  sizes.shape = Shape(DType::kS64, {Dim(static_cast<int64_t>(limits.size()))});
  sizes.contents = limits;
  Value limit = b.Convert(Materialize(b, sizes), indices.dtype());
  Value below = b.CompareImplicit(indices, limit, "lt");
  op.Check(b.Binary(Op::kAnd, b.Compare(indices, b.FullLike(indices, 0), "ge"), below));
  return absl::OkStatus();
}

Value WithBatchNumbers(FuncBuilder& b, Value indices, int batch_dims) {
  Dims dims = indices.shape().dims();
  dims.push_back(Dim(1));
  std::vector<Value> parts;
  for (int i = 0; i < batch_dims; ++i) parts.push_back(b.Iota(indices.dtype(), dims, i));
  parts.push_back(b.Reshape(indices, dims));
  return b.Concatenate(parts, static_cast<int>(dims.size()) - 1);
}

Value ScatterRows(FuncBuilder& b, Value operand, Value indices, Value updates, int depth,
                  int index_vector_dim, absl::string_view reducer) {
  int batch = updates.shape().rank() - (operand.shape().rank() - depth);
  return b.AddOne(Op::kScatter, {operand, indices, updates},
                  {{Attr::offset_dims, Count(batch, updates.shape().rank())},
                   {Attr::collapsed_slice_dims, Count(0, depth)},
                   {Attr::scatter_dims_to_operand_dims, Count(0, depth)},
                   {Attr::index_vector_dim, static_cast<int64_t>(index_vector_dim)},
                   {Attr::reducer, std::string(reducer)}});
}

RowReducer RowReducerOf(absl::string_view op) {
  if (absl::EndsWith(op, "Sub")) return {"add", true};
  for (const auto& [suffix, reducer] : {std::pair("Max", "max"), std::pair("Min", "min"),
                                        std::pair("Mul", "mul"), std::pair("Update", "replace")}) {
    if (absl::EndsWith(op, suffix)) return {reducer, false};
  }
  return {"add", false};
}

absl::StatusOr<Value> ScatterPoints(NodeImport& op, Value operand, Value indices, Value updates,
                                    absl::string_view reducer) {
  if (!operand || !indices || !updates) return Value();
  int rank = indices.shape().rank();
  if (op.attrs().String("bad_indices_policy") == "IGNORE") {
    return op.Refuse("bad_indices_policy IGNORE");
  }
  if (rank < 2) return op.Refuse("indices of rank ", rank);  // TensorFlow's error, also for a point
  Dim depth = indices.shape().dim(rank - 1);
  if (!depth.is_constant() || depth.value() > operand.shape().rank()) {
    return op.Refuse("points of ", depth.ToString(), " coordinates in ",
                     operand.shape().ToString());
  }
  int d = static_cast<int>(depth.value());
  if (d < 1 || updates.shape().rank() != rank - 1 + operand.shape().rank() - d) {
    return op.Refuse("updates of shape ", updates.shape().ToString());
  }
  const Dims& dims = operand.shape().dims();
  // A row for each point, as the op asks for: nothing is broadcast.
  Dims wanted(indices.shape().dims().begin(), indices.shape().dims().end() - 1);
  wanted.insert(wanted.end(), dims.begin() + d, dims.end());
  if (!AssumeSameDims(op.b(), updates.shape().dims(), wanted)) {
    return op.Refuse("updates of shape ", updates.shape().ToString());
  }
  TEKTITE_RETURN_IF_ERROR(CheckPoints(op, indices, dims, d));
  return ScatterRows(op.b(), operand, indices, updates, d, rank - 1, reducer);
}

Value LastFinite(FuncBuilder& b, DType dtype, bool lowest) {
  const double sign = lowest ? -1 : 1;
  switch (dtype) {
    case DType::kF16:
      return b.Scalar(dtype, sign * 65504);
    case DType::kBF16:
      return b.Scalar(dtype, sign * std::ldexp(255, 120));  // 8 bits of ones
    case DType::kF32:
      return b.Scalar(dtype, sign * std::numeric_limits<float>::max());
    case DType::kF64:
      return b.Scalar(dtype, sign * std::numeric_limits<double>::max());
    default:
      return b.Constant(lowest ? Literal::LowestOf(dtype) : Literal::HighestOf(dtype));
  }
}

Value WithNumberBehind(FuncBuilder& b, Value x, Value rows, double number) {
  const Dims& dims = x.shape().dims();
  Value counts = b.Compare(b.Iota(DType::kS64, dims, 0), b.BroadcastTo(rows, dims), "lt");
  return b.Select(counts, x, b.FullLike(x, number));
}

Value Gather(FuncBuilder& b, Value x, Value indices, const std::vector<int64_t>& indexed,
             const std::vector<int64_t>& offsets, int index_vector_dim) {
  if (!x || !indices) return Value();
  // Slices have to lie inside even where none is taken.
  Dims sizes = x.shape().dims();
  for (int64_t i : indexed) {
    if (sizes[i] == Dim(0)) sizes[i] = Dim(1);
  }
  if (sizes != x.shape().dims()) x = b.Full(x.dtype(), 0, sizes);
  if (!x) return Value();  // too large
  return b.AddOne(Op::kGather, {x, indices},
                  {{Attr::offset_dims, offsets},
                   {Attr::collapsed_slice_dims, indexed},
                   {Attr::start_index_map, indexed},
                   {Attr::index_vector_dim, static_cast<int64_t>(index_vector_dim)},
                   {Attr::slice_sizes, WithOnesAt(x.shape().dims(), indexed)}});
}

absl::Status GatherRows(NodeImport& op, Value params, int indices_input, int axis, int batch_dims) {
  FuncBuilder& b = op.b();
  Value indices = op.Input(indices_input);
  if (!params || !indices) return op.Return(Value());
  const Value rows = op.Rows(indices_input);
  if (Value mask = MaskOf(indices, params); rows && mask && axis == 0 && batch_dims == 0) {
    return op.ReturnRows(b.AddMulti(Op::kCompact, {mask, params})[0], rows);
  }
  if (rows) indices = WithNumberBehind(b, indices, rows, 0);
  int rank = params.shape().rank(), indices_rank = indices.shape().rank();
  if (batch_dims < 0) batch_dims += indices_rank;
  if (batch_dims < 0 || batch_dims > indices_rank || batch_dims > axis || axis >= rank) {
    return op.Refuse("batch_dims ", batch_dims, " with axis ", axis, " and indices of rank ",
                     indices_rank);
  }
  TEKTITE_RETURN_IF_ERROR(CheckRange(op, indices_input, indices, params.shape().dim(axis)));
  for (int i = 0; i < batch_dims; ++i) {
    b.AssumeEqual(params.shape().dim(i), indices.shape().dim(i));
  }
  std::vector<int64_t> indexed = Count(0, batch_dims);
  indexed.push_back(axis);
  std::vector<int64_t> offsets = Count(batch_dims, axis);
  int after = axis + indices_rank - batch_dims;
  for (int64_t i : Count(after, after + rank - axis - 1)) offsets.push_back(i);
  if (batch_dims > 0) indices = WithBatchNumbers(b, indices, batch_dims);
  return op.ReturnRows(Gather(b, params, indices, indexed, offsets, indices_rank), rows);
}

absl::Status GatherPoints(NodeImport& op, Value params, int indices_input) {
  Value indices = op.Input(indices_input);
  if (!params || !indices) return op.Return(Value());
  int rank = params.shape().rank(), indices_rank = indices.shape().rank();
  if (indices_rank < 1) return op.Refuse("indices are a scalar");
  Dim depth = indices.shape().dim(indices_rank - 1);
  if (!depth.is_constant() || depth.value() < 1 || depth.value() > rank) {
    return op.Refuse("points of ", depth.ToString(), " coordinates in rank ", rank);
  }
  int d = static_cast<int>(depth.value());
  const Dims& dims = params.shape().dims();
  TEKTITE_RETURN_IF_ERROR(CheckPoints(op, indices, dims, d));
  int batch = indices_rank - 1;
  return op.Return(
      Gather(op.b(), params, indices, Count(0, d), Count(batch, batch + rank - d), batch));
}

absl::Status ImportGather(NodeImport& op) {
  int axis = 0;
  int batch_dims = static_cast<int>(op.attrs().Int("batch_dims", 0));
  if (op.op() == "GatherV2") {
    TEKTITE_ASSIGN_OR_RETURN(axis, op.RequireAxis(2, op.InputRank(0)));
  }
  return GatherRows(op, op.Input(0), 1, axis, batch_dims);
}

absl::Status ImportGatherNd(NodeImport& op) {
  if (op.attrs().String("bad_indices_policy") == "IGNORE") {
    return op.Refuse("bad_indices_policy IGNORE");
  }
  return GatherPoints(op, op.Input(0), 1);
}

absl::Status ImportScatterNd(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, op.RequireContents(2));
  Value zeros = op.b().Full(op.InputDType(1), 0, dims);
  TEKTITE_ASSIGN_OR_RETURN(const Value result,
                           ScatterPoints(op, zeros, op.Input(0), op.Input(1), "add"));
  return op.Return(result);
}

absl::Status ImportTensorScatter(NodeImport& op) {
  const RowReducer how = RowReducerOf(op.op());
  const Value updates = how.negates ? op.b().Neg(op.Input(2)) : op.Input(2);
  TEKTITE_ASSIGN_OR_RETURN(const Value result,
                           ScatterPoints(op, op.Input(0), op.Input(1), updates, how.reducer));
  return op.Return(result);
}

// Rows at given places, later ones over earlier ones: as many rows as the greatest place asks for,
// which are taken to be no more than there are.  Rows that nobody fills are zero.
absl::Status ImportDynamicStitch(NodeImport& op) {
  FuncBuilder& b = op.b();
  const int parts = op.num_inputs() / 2;
  if (parts < 1 || op.InputRank(parts) < op.InputRank(0)) return op.Refuse("ranks");
  const Dims& first = op.InputDims(parts);
  const Dims row(first.begin() + op.InputRank(0), first.end());
  std::vector<Value> places, rows;
  int64_t greatest = -1;
  bool known = true;
  for (int i = 0; i < parts; ++i) {
    const Dims &at = op.InputDims(i), &data = op.InputDims(parts + i);
    if (data.size() != at.size() + row.size()) return op.Refuse("ranks");
    for (size_t k = 0; k < data.size(); ++k) {
      b.AssumeEqual(data[k], k < at.size() ? at[k] : row[k - at.size()]);
    }
    known = known && op.KnownAll(i, [&](int64_t place) {
      greatest = std::max(greatest, place);
      return place >= 0;
    });
    Dims dims = {op.InputShape(i).NumElements()};
    places.push_back(b.Reshape(op.Input(i), dims));
    dims.insert(dims.end(), row.begin(), row.end());
    rows.push_back(b.Reshape(op.Input(parts + i), dims));
  }
  Value at = b.Concatenate(places, 0), data = b.Concatenate(rows, 0);
  if (!at || !data) return op.Return(Value());
  const Dim most = known ? Dim(greatest + 1) : at.shape().dim(0);
  Dims dims = {most};
  dims.insert(dims.end(), row.begin(), row.end());
  Value result = b.Full(data.dtype(), 0, dims);
  if (at.shape().dim(0) == Dim(0)) return op.Return(result);
  result = ScatterRows(b, result, at, data, 1, 1, "replace");
  if (known) return op.Return(result);
  op.Check(b.Compare(at, b.FullLike(at, 0), "ge"));
  Value last = b.Max(b.Reduce(at, {0}, "max"), b.Scalar(at.dtype(), -1));
  op.Check(b.Compare(last, op.DimValue(most, at.dtype()), "lt"));
  return op.ReturnRows(result, b.Add(b.Convert(last, DType::kS64), b.Scalar(DType::kS64, 1)));
}

// The first lengths[i] elements of dimension seq_dim are reversed where dimension batch_dim is i.
absl::Status ImportReverseSequence(NodeImport& op) {
  FuncBuilder& b = op.b();
  const int rank = op.InputRank(0);
  TEKTITE_ASSIGN_OR_RETURN(const int along, op.NormalizeAxis(op.attrs().Int("seq_dim", -1), rank));
  TEKTITE_ASSIGN_OR_RETURN(const int batch, op.NormalizeAxis(op.attrs().Int("batch_dim", 0), rank));
  if (along == batch || op.InputRank(1) != 1) return op.Refuse("ranks or dimensions");
  Value x = op.Input(0), lengths = op.Input(1);
  if (!x || !lengths) return op.Return(Value());
  const Dim size = x.shape().dim(along), rows = x.shape().dim(batch);
  const Dim& given = lengths.shape().dim(0);
  if (given.is_constant() && rows.is_constant() && !(given == rows)) return op.Refuse("lengths");
  b.AssumeEqual(given, rows);
  Value last = op.DimValue(size, lengths.dtype());
  op.Check(b.Binary(Op::kAnd, b.Compare(lengths, b.FullLike(lengths, 0), "ge"),
                    b.CompareImplicit(lengths, last, "le")));
  const Dims dims = {rows, size};
  Value place = b.Iota(lengths.dtype(), dims, 1);
  Value length = b.BroadcastInDim(lengths, dims, {0});
  Value mirrored = b.Sub(b.Sub(length, b.FullLike(length, 1)), place);
  place = b.Select(b.Compare(place, length, "lt"), mirrored, place);
  // Points (row, place), in the order of x's two dimensions.
  std::vector<int64_t> indexed = {batch, along}, offsets;
  for (int i = 0; i < rank; ++i) {
    if (i != batch && i != along) offsets.push_back(i);
  }
  Value points = WithBatchNumbers(b, place, 1);
  if (batch > along) points = b.Transpose(points, {1, 0, 2});
  return op.Return(Gather(b, x, points, indexed, offsets, 2));
}

absl::Status ImportOneHot(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(Dims depth, op.RequireContents(1));
  TEKTITE_ASSIGN_OR_RETURN(int axis,
                           op.NormalizeAxis(op.attrs().Int("axis", -1), op.InputRank(0) + 1));
  for (const int scalar : {1, 2, 3}) TEKTITE_RETURN_IF_ERROR(op.RequireScalar(scalar));
  Value indices = op.Input(0);
  if (!indices) return op.Return(indices);
  Dims dims = indices.shape().dims();
  dims.insert(dims.begin() + axis, depth[0]);
  std::vector<int64_t> places;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    if (i != axis) places.push_back(i);
  }
  Value hit =
      b.Compare(b.BroadcastInDim(indices, dims, places), b.Iota(indices.dtype(), dims, axis), "eq");
  return op.Return(
      b.Select(hit, b.BroadcastTo(op.Input(2), dims), b.BroadcastTo(op.Input(3), dims)));
}

}  // namespace tektite::importer
