// Taking tensors apart: slices, splits, and the gradient of a slice.
#include <algorithm>
#include <optional>

#include "clustering/importer/import_table.h"
#include "clustering/importer/strided_slice.h"

namespace tektite::importer {
namespace {

using ir::Attr;

// Each is a value of the graph.
constexpr int64_t kMostParts = 1 << 20;

// Where a slice that goes backwards starts when it is read forwards.
Dim FirstForward(const Dim& begin, const Dim& size, int64_t stride) {
  return stride > 0 ? begin : begin + (size - Dim(1)) * Dim(stride);
}

std::vector<int64_t> BackwardDimensions(const StridedSliceSpec& spec) {
  std::vector<int64_t> backward;
  for (size_t i = 0; i < spec.strides.size(); ++i) {
    bool single = spec.sizes[i] == Dim(1) || spec.sizes[i] == Dim(0);
    if (spec.strides[i] < 0 && !single) backward.push_back(static_cast<int64_t>(i));
  }
  return backward;
}

Value TakeSlice(FuncBuilder& b, Value x, const StridedSliceSpec& spec) {
  Dims starts, limits;
  std::vector<int64_t> strides;
  bool whole = true;
  for (size_t i = 0; i < spec.sizes.size(); ++i) {
    int64_t stride = spec.strides[i], step = stride < 0 ? -stride : stride;
    bool empty = spec.sizes[i] == Dim(0);
    Dim start = empty ? Dim(0) : FirstForward(spec.begins[i], spec.sizes[i], stride);
    Dim limit = empty ? Dim(0) : start + (spec.sizes[i] - Dim(1)) * Dim(step) + Dim(1);
    whole = whole && start == Dim(0) && limit == x.shape().dim(static_cast<int>(i)) && step == 1;
    starts.push_back(start);
    limits.push_back(limit);
    strides.push_back(step);
  }
  return whole ? x : b.Slice(x, starts, limits, strides);
}

// Parts of `sizes` of dimension `axis`, in order.
absl::Status ReturnParts(NodeImport& op, int input, int axis, const Dims& sizes) {
  Value x = op.Input(input);
  Dim start(0);
  for (const Dim& size : sizes) {
    Value part = sizes.size() == 1 ? x : op.b().SliceDim(x, axis, start, start + size);
    TEKTITE_RETURN_IF_ERROR(op.Return(part));
    start = start + size;
  }
  return absl::OkStatus();
}

// TensorFlow raises an error elsewhere, also where nothing reads the slice, which is dropped then.
void AssumeInside(NodeImport& op, const Dim& start, const Dim& limit, const Dim& n) {
  op.b().AssumeAtMost(Dim(0), start);
  op.b().AssumeAtMost(start, limit);
  op.b().AssumeAtMost(limit, n);
}

absl::Status ImportEvenSplit(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(int axis, op.RequireAxis(0, op.InputRank(1)));
  int64_t parts = op.attrs().Int("num_split", 0);
  Dim n = op.InputDims(1)[axis];
  if (parts < 1 || parts > kMostParts) return op.Refuse("num_split is ", parts);
  if (n.is_constant() && n.value() % parts != 0) {
    return op.Refuse("size ", n.value(), " does not split into ", parts, " parts");
  }
  Dim part = ir::FloorDiv(n, Dim(parts));
  if (!n.is_constant()) op.b().AssumeEqual(part * Dim(parts), n);
  return ReturnParts(op, 1, axis, Dims(parts, part));
}

}  // namespace

absl::Status ImportStridedSlice(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(StridedSliceSpec spec, ResolveStridedSlice(op, op.InputDims(0), 1));
  FuncBuilder& b = op.b();
  Value x = op.Input(0);
  if (!x) return op.Return(x);
  x = TakeSlice(b, x, spec);
  std::vector<int64_t> backward = BackwardDimensions(spec);
  if (!backward.empty()) x = b.Reverse(x, backward);
  TEKTITE_RETURN_IF_ERROR(op.Return(b.Reshape(x, spec.result_dims)));
  const std::optional<Measured>& measured = op.InputInfo(0).measured;
  if (measured && spec.result_dims.empty() && spec.begins[0] == Dim(0)) {
    op.results().back().measured = Measured{{measured->dims[0]}, measured->rows};
  }
  return absl::OkStatus();
}

namespace {

// `part`, of the spec's sizes, where such a slice of a tensor of these dimensions lies; the scalar
// `otherwise` elsewhere.
absl::StatusOr<Value> Placed(NodeImport& op, const StridedSliceSpec& spec, const Dims& dims,
                             Value part, Value otherwise) {
  FuncBuilder& b = op.b();
  std::vector<int64_t> backward = BackwardDimensions(spec);
  if (!backward.empty()) part = b.Reverse(part, backward);
  std::vector<int64_t> low, high, interior;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t stride = spec.strides[i], step = stride < 0 ? -stride : stride;
    Dim start = FirstForward(spec.begins[i], spec.sizes[i], stride);
    Dim after = dims[i] - start - (spec.sizes[i] - Dim(1)) * Dim(step) - Dim(1);
    bool empty = spec.sizes[i] == Dim(0);
    if (empty) start = Dim(0), after = dims[i];
    if (!start.is_constant() || !after.is_constant()) {
      return op.Refuse("padding depends on a size: ", after.ToString());
    }
    low.push_back(start.value());
    high.push_back(after.value());
    interior.push_back(step - 1);
  }
  return b.Pad(part, otherwise, low, high, interior);
}

// The value that is put in the place of a slice, in the slice's sizes; a scalar is put everywhere.
absl::StatusOr<Value> AsSlice(NodeImport& op, const StridedSliceSpec& spec, Value value) {
  FuncBuilder& b = op.b();
  if (value.shape().rank() == 0) return b.BroadcastTo(value, spec.sizes);
  const Dims& given = value.shape().dims();
  if (given.size() != spec.result_dims.size()) return op.Refuse("a value of another rank");
  for (size_t i = 0; i < given.size(); ++i) {
    if (!b.AssumeEqual(given[i], spec.result_dims[i])) return op.Refuse("a value of other sizes");
  }
  return b.Reshape(value, spec.sizes);
}

// x with `part` in the place of a slice, by a scatter, so that a variable's other elements are left
// alone.  Dimension 0 and those with a stride go place by place, others are windows that begin
// where the slice does.
Value WithSlice(NodeImport& op, Value x, const StridedSliceSpec& spec, Value part) {
  FuncBuilder& b = op.b();
  const int rank = x.shape().rank();
  std::vector<int64_t> indexed, single, windows;
  Dims places;
  for (int d = 0; d < rank; ++d) {
    const bool is_whole =
        spec.begins[d] == Dim(0) && spec.sizes[d] == x.shape().dim(d) && spec.strides[d] == 1;
    if (!is_whole) indexed.push_back(d);
    const bool is_single = !is_whole && (d == 0 || spec.strides[d] != 1);
    (is_single ? single : windows).push_back(d);
    if (is_single) places.push_back(spec.sizes[d]);
  }
  if (indexed.empty()) return part;
  Dims coordinate_dims = places;
  coordinate_dims.push_back(Dim(1));
  std::vector<Value> coordinates;
  for (const int64_t d : indexed) {
    Value at = b.BroadcastTo(op.DimValue(spec.begins[d], DType::kS64), places);
    const auto place = std::find(single.begin(), single.end(), d);
    if (place != single.end()) {
      const Value count = b.Iota(DType::kS64, places, static_cast<int>(place - single.begin()));
      at = b.Add(at, b.Mul(count, b.FullLike(count, static_cast<double>(spec.strides[d]))));
    }
    coordinates.push_back(b.Reshape(at, coordinate_dims));
  }
  const int last = static_cast<int>(places.size());
  return b.AddOne(Op::kScatter, {x, b.Concatenate(coordinates, last), part},
                  {{Attr::offset_dims, windows},
                   {Attr::collapsed_slice_dims, single},
                   {Attr::scatter_dims_to_operand_dims, indexed},
                   {Attr::index_vector_dim, static_cast<int64_t>(last)},
                   {Attr::reducer, std::string("replace")}});
}

}  // namespace

// The gradient lies where the slice was taken from, zeros elsewhere.
absl::Status ImportStridedSliceGrad(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(const Dims dims, op.RequireContents(0));
  TEKTITE_ASSIGN_OR_RETURN(const StridedSliceSpec spec, ResolveStridedSlice(op, dims, 1));
  const Value dy = b.Reshape(op.Input(4), spec.sizes);
  TEKTITE_ASSIGN_OR_RETURN(const Value dx,
                           Placed(op, spec, dims, dy, b.Scalar(op.InputDType(4), 0)));
  return op.Return(dx);
}

// A tensor with another value in the place of a slice of it.
absl::Status ImportTensorStridedSliceUpdate(NodeImport& op) {
  FuncBuilder& b = op.b();
  const Dims dims = op.InputDims(0);
  TEKTITE_ASSIGN_OR_RETURN(const StridedSliceSpec spec, ResolveStridedSlice(op, dims, 1));
  const Value x = op.Input(0);
  Value part = op.Input(4);
  if (!x || !part) return op.Return(Value());
  TEKTITE_ASSIGN_OR_RETURN(part, AsSlice(op, spec, part));
  TEKTITE_ASSIGN_OR_RETURN(const Value there, Placed(op, spec, dims, part, b.Scalar(x.dtype(), 0)));
  const Value all = b.Full(DType::kBool, 1, spec.sizes);
  TEKTITE_ASSIGN_OR_RETURN(const Value mask,
                           Placed(op, spec, dims, all, b.Scalar(DType::kBool, 0)));
  return op.Return(b.Select(mask, there, x));
}

absl::Status ImportStridedSliceAssign(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const Value content, op.Variable(0));
  const Dims dims = content.shape().dims();
  TEKTITE_ASSIGN_OR_RETURN(const StridedSliceSpec spec, ResolveStridedSlice(op, dims, 1));
  Value part = op.Input(4);
  if (!part || part.dtype() != content.dtype()) return op.Refuse("the value");
  TEKTITE_ASSIGN_OR_RETURN(part, AsSlice(op, spec, part));
  return op.SetVariable(0, WithSlice(op, content, spec, part));
}

absl::Status ImportSlice(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims starts, op.RequireContents(1));
  TEKTITE_ASSIGN_OR_RETURN(Dims sizes, op.RequireContents(2));
  const Dims& dims = op.InputDims(0);
  if (starts.size() != dims.size() || sizes.size() != dims.size()) {
    return op.Refuse("begin and size need ", dims.size(), " elements");
  }
  Dims limits;
  bool whole = true;
  for (size_t i = 0; i < dims.size(); ++i) {
    Dim limit = sizes[i] == Dim(-1) ? dims[i] : starts[i] + sizes[i];
    bool known = starts[i].is_constant() && limit.is_constant() && dims[i].is_constant();
    if (known && (starts[i].value() < 0 || limit.value() < starts[i].value() ||
                  limit.value() > dims[i].value())) {
      return op.Refuse("[", starts[i].value(), ", ", limit.value(), ") of ", dims[i].value());
    }
    const bool all = starts[i] == Dim(0) && limit == dims[i];
    if (!all) AssumeInside(op, starts[i], limit, dims[i]);
    whole = whole && all;
    limits.push_back(limit);
  }
  return whole ? op.Forward(0) : op.Return(op.b().Slice(op.Input(0), starts, limits));
}

absl::Status ImportSplit(NodeImport& op) {
  if (op.op() == "Split") return ImportEvenSplit(op);
  TEKTITE_ASSIGN_OR_RETURN(Dims sizes, op.RequireContents(1));
  TEKTITE_ASSIGN_OR_RETURN(int axis, op.RequireAxis(2, op.InputRank(0)));
  const Dim& n = op.InputDims(0)[axis];
  Dim sum(0);
  Dim* rest = nullptr;
  for (Dim& size : sizes) {
    if (size == Dim(-1)) {
      rest = &size;
    } else {
      op.b().AssumeAtMost(Dim(0), size);
      sum = sum + size;
    }
  }
  if (rest != nullptr && sizes.size() == 1) return op.Refuse("a rest alone");  // TensorFlow's error
  if (rest != nullptr) *rest = n - sum;
  if (!(rest == nullptr ? op.b().AssumeEqual(n, sum) : op.b().AssumeAtMost(sum, n))) {
    return op.Refuse("the sizes do not add up to ", n.ToString());
  }
  return ReturnParts(op, 0, axis, sizes);
}

absl::Status ImportUnpack(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(int axis, op.NormalizeAxis(op.attrs().Int("axis", 0), op.InputRank(0)));
  int64_t parts = op.attrs().Int("num", 0);
  Dims dims = op.InputDims(0);
  if (parts < 0 || parts > kMostParts) return op.Refuse("num is ", parts);
  if (dims[axis] != Dim(parts)) {
    return op.Refuse(parts, " parts of size ", dims[axis].ToString());
  }
  dims.erase(dims.begin() + axis);
  Value x = op.Input(0);
  for (int64_t i = 0; i < parts; ++i) {
    Value part = b.SliceDim(x, axis, Dim(i), Dim(i + 1));
    TEKTITE_RETURN_IF_ERROR(op.Return(b.Reshape(part, dims)));
  }
  return absl::OkStatus();
}

}  // namespace tektite::importer
