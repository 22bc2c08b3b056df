// Taking tensors apart: slices, splits, and the gradient of a slice.
#include <algorithm>
#include <optional>

#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/positions.h"
#include "clustering/importer/movement/strided_slice.h"
#include "jit/ir/symbols.h"

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

// Of a dimension of a slice, from the first to the last element in memory.
Dim Reach(const StridedSliceSpec& spec, size_t i) {
  const int64_t stride = spec.strides[i];
  if (spec.sizes[i] == Dim(0)) return Dim(0);
  return (spec.sizes[i] - Dim(1)) * Dim(stride < 0 ? -stride : stride) + Dim(1);
}

// Where the slice starts in each dimension when it is read forwards: a value of each, s64.
std::vector<Value> DataStarts(NodeImport& op, const StridedSliceSpec& spec) {
  FuncBuilder& b = op.b();
  std::vector<Value> starts;
  for (size_t i = 0; i < spec.begins.size(); ++i) {
    const auto& [known, data] = spec.begins[i];
    if (!data) {
      const Dim first = FirstForward(known, spec.sizes[i], spec.strides[i]);
      starts.push_back(op.DimValue(spec.sizes[i] == Dim(0) ? Dim(0) : first, DType::kS64));
      continue;
    }
    const Dim back = spec.strides[i] < 0 ? Reach(spec, i) - Dim(1) : Dim(0);
    starts.push_back(back == Dim(0) ? data : b.Sub(data, op.DimValue(back, DType::kS64)));
  }
  return starts;
}

// What lies at places that are data; other dimensions are whole, and strides are left to do.
Value TakeWindow(NodeImport& op, Value x, StridedSliceSpec* spec) {
  if (!HasData(*spec)) return x;
  std::vector<Value> starts = DataStarts(op, *spec);
  Dims sizes = x.shape().dims();
  for (size_t i = 0; i < sizes.size(); ++i) {
    Place& begin = spec->begins[i];
    if (!begin.data) {
      starts[i] = op.DimValue(Dim(0), DType::kS64);
      continue;
    }
    sizes[i] = Reach(*spec, i);
    begin = {spec->strides[i] < 0 ? sizes[i] - Dim(1) : Dim(0), Value()};
  }
  return op.b().DynamicSlice(x, starts, sizes);
}

Value TakeSlice(NodeImport& op, Value x, StridedSliceSpec spec) {
  x = TakeWindow(op, x, &spec);
  if (!x) return x;
  Dims starts, limits;
  std::vector<int64_t> strides;
  bool whole = true;
  for (size_t i = 0; i < spec.sizes.size(); ++i) {
    int64_t stride = spec.strides[i], step = stride < 0 ? -stride : stride;
    bool empty = spec.sizes[i] == Dim(0);
    Dim start = empty ? Dim(0) : FirstForward(spec.begins[i].known, spec.sizes[i], stride);
    Dim limit = start + Reach(spec, i);
    whole = whole && start == Dim(0) && limit == x.shape().dim(static_cast<int>(i)) && step == 1;
    starts.push_back(start);
    limits.push_back(limit);
    strides.push_back(step);
  }
  return whole ? x : op.b().Slice(x, starts, limits, strides);
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
  x = TakeSlice(op, x, spec);
  if (!x) return op.Return(x);
  std::vector<int64_t> backward = BackwardDimensions(spec);
  if (!backward.empty()) x = b.Reverse(x, backward);
  TEKTITE_RETURN_IF_ERROR(op.Return(b.Reshape(x, spec.result_dims)));
  const std::optional<Measured>& measured = op.InputInfo(0).measured;
  if (measured && spec.result_dims.empty() && !spec.begins[0].data &&
      spec.begins[0].known == Dim(0)) {
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
  std::vector<int64_t> low, high, interior, none(dims.size(), 0);
  Dims window;
  bool is_window = false, has_steps = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t stride = spec.strides[i], step = stride < 0 ? -stride : stride;
    const Place& begin = spec.begins[i];
    Dim start = FirstForward(begin.known, spec.sizes[i], stride);
    Dim after = dims[i] - start - Reach(spec, i);
    if (spec.sizes[i] == Dim(0)) start = Dim(0), after = dims[i];
    is_window = is_window || begin.data || !start.is_constant() || !after.is_constant();
    has_steps = has_steps || step != 1;
    low.push_back(start.value_or(0));
    high.push_back(after.value_or(0));
    interior.push_back(step - 1);
    window.push_back(Reach(spec, i));
  }
  if (!is_window) return b.Pad(part, otherwise, low, high, interior);
  // A size of 0 would be padded between its elements.
  for (size_t i = 0; has_steps && i < dims.size(); ++i) {
    if (interior[i] != 0 && !ir::NeverLess(spec.sizes[i], Dim(1))) {
      return op.Refuse("whether ", spec.sizes[i].ToString(), " is 0");
    }
  }
  if (has_steps) part = b.Pad(part, otherwise, none, none, interior);
  return b.DynamicUpdateSlice(b.BroadcastTo(otherwise, dims), part, DataStarts(op, spec));
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
    const bool is_whole = !spec.begins[d].data && spec.begins[d].known == Dim(0) &&
                          spec.sizes[d] == x.shape().dim(d) && spec.strides[d] == 1;
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
    const auto& [known, data] = spec.begins[d];
    Value at = b.BroadcastTo(data ? data : op.DimValue(known, DType::kS64), places);
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
  TEKTITE_ASSIGN_OR_RETURN(const StridedSliceSpec spec,
                           ResolveStridedSlice(op, dims, 1, &op.InputDims(4)));
  const Value dy = b.Reshape(op.Input(4), spec.sizes);
  TEKTITE_ASSIGN_OR_RETURN(const Value dx,
                           Placed(op, spec, dims, dy, b.Scalar(op.InputDType(4), 0)));
  return op.Return(dx);
}

// A tensor with another value in the place of a slice of it.
absl::Status ImportTensorStridedSliceUpdate(NodeImport& op) {
  FuncBuilder& b = op.b();
  const Dims dims = op.InputDims(0);
  TEKTITE_ASSIGN_OR_RETURN(const StridedSliceSpec spec,
                           ResolveStridedSlice(op, dims, 1, &op.InputDims(4)));
  const Value x = op.Input(0);
  Value part = op.Input(4);
  if (!x || !part) return op.Return(Value());
  TEKTITE_ASSIGN_OR_RETURN(part, AsSlice(op, spec, part));
  const auto is_step = [](int64_t stride) { return stride != 1 && stride != -1; };
  if (std::none_of(spec.strides.begin(), spec.strides.end(), is_step)) {
    const std::vector<int64_t> backward = BackwardDimensions(spec);
    if (!backward.empty()) part = b.Reverse(part, backward);
    return op.Return(b.DynamicUpdateSlice(x, part, DataStarts(op, spec)));
  }
  TEKTITE_ASSIGN_OR_RETURN(const Value there, Placed(op, spec, dims, part, b.Scalar(x.dtype(), 0)));
  const Value all = b.Full(DType::kBool, 1, spec.sizes);
  TEKTITE_ASSIGN_OR_RETURN(const Value mask,
                           Placed(op, spec, dims, all, b.Scalar(DType::kBool, 0)));
  return op.Return(b.Select(mask, there, x));
}

absl::Status ImportStridedSliceAssign(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const Value content, op.Variable(0));
  const Dims dims = content.shape().dims();
  TEKTITE_ASSIGN_OR_RETURN(const StridedSliceSpec spec,
                           ResolveStridedSlice(op, dims, 1, &op.InputDims(4)));
  Value part = op.Input(4);
  if (!part || part.dtype() != content.dtype()) return op.Refuse("the value");
  TEKTITE_ASSIGN_OR_RETURN(part, AsSlice(op, spec, part));
  return op.SetVariable(0, WithSlice(op, content, spec, part));
}

namespace {

// A slice of which some places are data.
absl::Status SliceAtData(NodeImport& op, const Dims& sizes) {
  FuncBuilder& b = op.b();
  const Dims& dims = op.InputDims(0);
  const Value x = op.Input(0);
  if (!x) return op.Return(x);
  std::vector<Value> starts;
  Dims taken;
  for (size_t i = 0; i < dims.size(); ++i) {
    TEKTITE_ASSIGN_OR_RETURN(const Position begin, PositionOf(op, 1, static_cast<int64_t>(i)));
    starts.push_back(ValueOf(op, begin));
    const bool is_rest = sizes[i] == Dim(-1);
    if (is_rest && !begin.known)
      return op.Refuse("data decides how much of dimension ", i, " is left");
    taken.push_back(is_rest ? dims[i] - *begin.known : sizes[i]);
    if (begin.known) {
      AssumeInside(op, *begin.known, *begin.known + taken[i], dims[i]);
      continue;
    }
    // TensorFlow raises an error.
    op.b().AssumeAtMost(Dim(0), taken[i]);
    op.b().AssumeAtMost(taken[i], dims[i]);
    const Dim last = dims[i] - taken[i];
    const std::optional<ValueRange>& range = begin.range;
    if (range && ir::NeverLess(range->first, Dim(0)) &&
        ir::NeverLess(last + Dim(1), range->behind)) {
      continue;
    }
    op.Check(b.Binary(Op::kAnd, b.Compare(begin.value, b.Scalar(DType::kS64, 0), "ge"),
                      b.Compare(begin.value, op.DimValue(last, DType::kS64), "le")));
  }
  return op.Return(b.DynamicSlice(x, starts, taken));
}

}  // namespace

absl::Status ImportSlice(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(Dims sizes, op.RequireContents(2));
  const Dims& dims = op.InputDims(0);
  if (op.InputDims(1) != Dims{Dim(op.InputRank(0))} || sizes.size() != dims.size()) {
    return op.Refuse("begin and size need ", dims.size(), " elements");
  }
  if (!IsKnown(op, 1)) return SliceAtData(op, sizes);
  TEKTITE_ASSIGN_OR_RETURN(Dims starts, op.RequireContents(1));
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
