// Shapes as data, and tensors made from shapes: ranges, fills, broadcast bookkeeping.
#include <algorithm>
#include <cmath>

#include "clustering/importer/control/tensor_lists.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/positions.h"
#include "jit/ir/symbols.h"

namespace tektite::importer {
namespace {

// Elements of range(start, limit, delta).
int64_t RangeSize(double start, double limit, double delta) {
  return std::max<int64_t>(0, static_cast<int64_t>(std::ceil((limit - start) / delta)));
}

absl::StatusOr<double> RequireNumber(const NodeImport& op, int i) {
  const TensorInfo& info = op.InputInfo(i);
  if (info.literal && info.literal->num_elements() == 1) return info.literal->AsDouble(0);
  TEKTITE_ASSIGN_OR_RETURN(int64_t value, op.RequireInt(i));
  return static_cast<double>(value);
}

// start + iota * delta, in dtype.
Value Progression(NodeImport& op, DType dtype, const Dim& size, Value start, Value delta) {
  FuncBuilder& b = op.b();
  Value steps = b.Iota(dtype, {size}, 0);
  if (delta) steps = b.Mul(steps, delta);
  return start ? b.Add(steps, start) : steps;
}

absl::Status ImportFloatRange(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(double start, RequireNumber(op, 0));
  TEKTITE_ASSIGN_OR_RETURN(double limit, RequireNumber(op, 1));
  TEKTITE_ASSIGN_OR_RETURN(double delta, RequireNumber(op, 2));
  if (delta == 0 || !std::isfinite((limit - start) / delta)) return op.Refuse("delta ", delta);
  int64_t size = RangeSize(start, limit, delta);
  return op.Return(Progression(op, op.InputDType(0), Dim(size), op.Input(0), op.Input(2)));
}

Dim BroadcastDim(const Dim& a, const Dim& b) { return a == Dim(1) ? b : a; }

// Dimension i of the broadcast result, from the right-aligned shapes.
const Dim& AlignedDim(const Dims& dims, size_t rank, size_t i) {
  static const Dim& one = *new Dim(1);
  size_t missing = rank - dims.size();
  return i < missing ? one : dims[i - missing];
}

bool BroadcastIsKnown(const Dim& a, const Dim& b) {
  return a == b || (a.is_constant() && b.is_constant()) || a == Dim(1) || b == Dim(1);
}

Dims Places(const std::vector<int64_t>& axes) { return Dims(axes.begin(), axes.end()); }

}  // namespace

absl::Status ImportShape(NodeImport& op) {
  const std::string& name = op.op();
  TEKTITE_ASSIGN_OR_RETURN(DType dtype, op.Type("out_type", DType::kS32));
  if (name == "Rank") return op.ReturnContents(DType::kS32, {}, {Dim(op.InputRank(0))});
  if (name == "Size") return op.ReturnContents(dtype, {}, {op.InputShape(0).NumElements()});
  if (const Value rows = name == "Shape" ? op.Rows(0) : Value()) {
    FuncBuilder& b = op.b();
    std::vector<Value> sizes = {b.Reshape(b.Convert(rows, dtype), {Dim(1)})};
    for (int i = 1; i < op.InputRank(0); ++i) {
      sizes.push_back(b.Reshape(op.DimValue(op.InputDims(0)[i], dtype), {Dim(1)}));
    }
    TEKTITE_RETURN_IF_ERROR(op.Return(b.Concatenate(sizes, 0)));
    op.results().back().measured = Measured{op.InputDims(0), rows};
    return absl::OkStatus();
  }
  for (int i = 0; i < op.num_inputs(); ++i) {  // ShapeN has several
    TEKTITE_RETURN_IF_ERROR(op.ReturnContents(dtype, {Dim(op.InputRank(i))}, op.InputDims(i)));
  }
  return absl::OkStatus();
}

namespace {

// Data decides where it begins, and it ends a known way behind.
absl::Status ImportRangeAtData(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const int64_t delta, op.RequireInt(2));
  if (delta == 0 || op.InputRank(0) != 0 || op.InputRank(1) != 0) return op.Refuse("delta ", delta);
  const std::optional<Dim> span =
      delta > 0 ? KnownSum(op, {{1, 0, 1}, {0, 0, -1}}) : KnownSum(op, {{0, 0, 1}, {1, 0, -1}});
  if (!span) return op.Refuse("data decides how long it is");
  const Dim size = ir::CeilDiv(ir::Max(*span, Dim(0)), Dim(delta > 0 ? delta : -delta));
  const Value start = op.Input(0), limit = op.Input(1);
  TEKTITE_ASSIGN_OR_RETURN(const Position first, PositionOf(op, 0, 0));
  // A limit beyond the type's last number is another number.
  if (!first.range || !ir::NeverLess(*span, Dim(0))) {
    op.Check(b.Compare(start, limit, delta > 0 ? "le" : "ge"));
  }
  return op.Return(
      Progression(op, op.InputDType(0), size, start, delta == 1 ? Value() : op.Input(2)));
}

}  // namespace

absl::Status ImportRange(NodeImport& op) {
  if (ir::IsFloat(op.InputDType(0))) return ImportFloatRange(op);
  if (!IsKnown(op, 0) || !IsKnown(op, 1)) return ImportRangeAtData(op);
  TEKTITE_ASSIGN_OR_RETURN(Dims start, op.RequireContents(0));
  TEKTITE_ASSIGN_OR_RETURN(Dims limit, op.RequireContents(1));
  TEKTITE_ASSIGN_OR_RETURN(int64_t delta, op.RequireInt(2));
  if (delta == 0 || start.size() != 1 || limit.size() != 1) return op.Refuse("delta ", delta);
  Dim span = delta > 0 ? limit[0] - start[0] : start[0] - limit[0];
  bool sure =
      start[0] == Dim(0) && delta == 1 && !limit[0].is_constant();  // a size is not negative
  Dim size = sure ? span : ir::CeilDiv(ir::Max(span, Dim(0)), Dim(delta > 0 ? delta : -delta));
  Value first = start[0] == Dim(0) ? Value() : op.Input(0);
  Value step = delta == 1 ? Value() : op.Input(2);
  return op.Return(Progression(op, op.InputDType(0), size, first, step));
}

// start + i * (stop - start) / (num - 1), the last element being `stop` itself.
absl::Status ImportLinSpace(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(int64_t num, op.RequireInt(2));
  if (num < 1) return op.Refuse("num is ", num);
  for (const int scalar : {0, 1}) TEKTITE_RETURN_IF_ERROR(op.RequireScalar(scalar));
  Value start = op.Input(0), stop = op.Input(1);
  Dims dims = {Dim(num)};
  if (!start || !stop || num == 1) return op.Return(b.BroadcastTo(start, dims));
  DType dtype = start.dtype();
  Value step = b.Div(b.Sub(stop, start), b.Scalar(dtype, static_cast<double>(num - 1)));
  Value values = Progression(op, dtype, Dim(num), start, step);
  Value last = b.Compare(b.Iota(DType::kS32, dims, 0),
                         b.Full(DType::kS32, static_cast<double>(num - 1), dims), "eq");
  return op.Return(b.Select(last, b.BroadcastTo(stop, dims), values));
}

absl::Status ImportFill(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, op.RequireContents(0));
  for (const Dim& d : dims) {
    if (d.is_constant() && d.value() < 0) return op.Refuse("size ", d.value());
  }
  // A vector of one element passes for a scalar.
  if (op.InputRank(1) == 1 && !op.b().AssumeEqual(op.InputDims(1)[0], Dim(1))) {
    return op.Return(Value());
  }
  if (op.InputRank(1) > 1) return op.Refuse("a value of rank ", op.InputRank(1));
  return op.Return(op.b().BroadcastTo(op.b().Reshape(op.Input(1), {}), dims));
}

// Zeros, whether it asks for them or for memory as it is.
absl::Status ImportEmpty(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const Dims dims, op.RequireContents(0));
  TEKTITE_ASSIGN_OR_RETURN(const DType dtype, op.Type("dtype", DType::kF32));
  for (const Dim& d : dims) {
    if (d.is_constant() && d.value() < 0) return op.Refuse("size ", d.value());
  }
  return op.Return(op.b().Full(dtype, 0, dims));
}

absl::Status ImportFillLike(NodeImport& op) {
  double value = op.op() == "OnesLike" ? 1 : 0;
  if (op.InputInfo(0).is_resource) return op.Refuse("a resource handle");
  if (op.InputInfo(0).list) return value == 0 ? ImportListZerosLike(op) : op.Refuse("a list");
  return op.Return(op.b().Full(op.InputDType(0), value, op.InputDims(0)));
}

absl::Status ImportBroadcastArgs(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims a, op.RequireContents(0));
  TEKTITE_ASSIGN_OR_RETURN(Dims b, op.RequireContents(1));
  size_t rank = std::max(a.size(), b.size());
  Dims result;
  for (size_t i = 0; i < rank; ++i) {
    const Dim &x = AlignedDim(a, rank, i), &y = AlignedDim(b, rank, i);
    if (!BroadcastIsKnown(x, y) || (x != y && x != Dim(1) && y != Dim(1))) {
      return op.Refuse("sizes ", x.ToString(), " and ", y.ToString());
    }
    result.push_back(BroadcastDim(x, y));
  }
  return op.ReturnContents(op.InputDType(0), {Dim(static_cast<int64_t>(rank))}, result);
}

// Where each part of a concatenation begins, from the parts' shapes.
absl::Status ImportConcatOffset(NodeImport& op) {
  if (op.num_inputs() < 2) return op.Refuse("nothing is concatenated");
  TEKTITE_ASSIGN_OR_RETURN(const Dims first, op.RequireContents(1));
  const int rank = static_cast<int>(first.size());
  TEKTITE_ASSIGN_OR_RETURN(int axis, op.RequireAxis(0, rank));
  Dim begin(0);
  for (int i = 1; i < op.num_inputs(); ++i) {
    TEKTITE_ASSIGN_OR_RETURN(const Dims part, op.RequireContents(i));
    if (static_cast<int>(part.size()) != rank) return op.Refuse("ranks differ");
    for (int d = 0; d < rank; ++d) {
      if (d != axis && !op.b().AssumeEqual(part[d], first[d])) {
        return op.Refuse(op.b().status().message());
      }
    }
    Dims offset(rank, Dim(0));
    offset[axis] = begin;
    begin = begin + part[axis];
    TEKTITE_RETURN_IF_ERROR(op.ReturnContents(op.InputDType(i), {Dim(rank)}, std::move(offset)));
  }
  return absl::OkStatus();
}

// The axes over which a gradient of the broadcast result is summed to fit each operand: those where
// the operand has size 1 (or nothing) and those where both have size 1.
absl::Status ImportBroadcastGradientArgs(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims a, op.RequireContents(0));
  TEKTITE_ASSIGN_OR_RETURN(Dims b, op.RequireContents(1));
  size_t rank = std::max(a.size(), b.size());
  std::vector<int64_t> sum_a, sum_b;
  bool same = a == b;
  for (size_t i = 0; !same && i < rank; ++i) {
    const Dim &x = AlignedDim(a, rank, i), &y = AlignedDim(b, rank, i);
    if (!BroadcastIsKnown(x, y)) {
      return op.Refuse("whether ", x.ToString(), " or ", y.ToString(), " is 1 decides the axes");
    }
    if (x == Dim(1)) sum_a.push_back(static_cast<int64_t>(i));
    if (y == Dim(1)) sum_b.push_back(static_cast<int64_t>(i));
  }
  DType dtype = op.InputDType(0);
  Dims size_a = {Dim(static_cast<int64_t>(sum_a.size()))};
  Dims size_b = {Dim(static_cast<int64_t>(sum_b.size()))};
  TEKTITE_RETURN_IF_ERROR(op.ReturnContents(dtype, size_a, Places(sum_a)));
  return op.ReturnContents(dtype, size_b, Places(sum_b));
}

// Its input, if the sizes that the attribute names are the input's.
absl::Status ImportEnsureShape(NodeImport& op) {
  const graph_def::AttrValue* const attr = op.attrs().Find("shape");
  const auto* const shape = attr == nullptr ? nullptr : attr->As<graph_def::PartialShape>();
  if (shape == nullptr) return op.Refuse("no shape");
  if (shape->unknown_rank) return op.Forward(0);
  if (static_cast<int>(shape->dims.size()) != op.InputRank(0)) return op.Refuse("another rank");
  for (int i = 0; i < op.InputRank(0); ++i) {
    const Dim& given = op.InputDims(0)[i];
    if (shape->dims[i] < 0 || given == Dim(shape->dims[i])) continue;
    if (given.is_constant()) return op.Refuse("size ", given.ToString(), " of dimension ", i);
    op.b().AssumeEqual(given, Dim(shape->dims[i]));
  }
  return op.Forward(0);
}

}  // namespace tektite::importer
