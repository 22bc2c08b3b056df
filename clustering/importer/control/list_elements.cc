#include "clustering/importer/control/list_elements.h"

#include <algorithm>
#include <utility>

#include "clustering/importer/control/carried_values.h"
#include "clustering/importer/control/trip_count.h"
#include "jit/ir/symbols.h"
#include "jit/ops/ops.h"

namespace tektite::importer {
namespace {

using Written = TensorList::Written;

std::vector<Value> Starts(FuncBuilder& b, Value first, int rank) {
  std::vector<Value> starts(rank, b.Scalar(DType::kS32, 0));
  starts[0] = first;
  return starts;
}

constexpr int kMostOps = 32;  // of those that compute an index

ValueRange Only(const Dim& value) { return {value, value + Dim(1)}; }

ValueRange Sum(const ValueRange& a, const ValueRange& b) {
  return {a.first + b.first, a.behind + b.behind - Dim(1)};
}

ValueRange Times(const ValueRange& a, const Dim& factor) {
  const Dim first = a.first * factor, last = (a.behind - Dim(1)) * factor;
  return ir::NeverLess(factor, Dim(0)) ? ValueRange{first, last + Dim(1)}
                                       : ValueRange{last, first + Dim(1)};
}

// Between which bounds an integer scalar is that comes from the region's arguments by sums and
// products.
std::optional<ValueRange> RangeIn(const NodeImport& op, Value value, int* ops_left) {
  if (const std::optional<Dim> size = SizeOf(value)) return Only(*size);
  if (op.scope().arguments != nullptr) {
    for (const TensorInfo& argument : *op.scope().arguments) {
      if (argument.value == value) return argument.range;
    }
  }
  const ir::Node& node = *value.node;
  if (--*ops_left < 0 || value.shape().rank() != 0) return std::nullopt;
  if (node.op() != Op::kAdd && node.op() != Op::kSub && node.op() != Op::kMul) return std::nullopt;
  const auto a = RangeIn(op, node.operand(0), ops_left);
  const auto b = a ? RangeIn(op, node.operand(1), ops_left) : std::nullopt;
  if (!a || !b) return std::nullopt;
  if (node.op() == Op::kAdd) return Sum(*a, *b);
  if (node.op() == Op::kSub) return Sum(*a, Times(*b, Dim(-1)));
  const bool is_first = a->first + Dim(1) == a->behind;
  const ValueRange &constant = is_first ? *a : *b, &other = is_first ? *b : *a;
  const bool is_constant =
      constant.first.is_constant() && constant.first + Dim(1) == constant.behind;
  return is_constant ? std::optional<ValueRange>(Times(other, constant.first)) : std::nullopt;
}

}  // namespace

bool IsOpen(const Dim& size) { return size.is_constant() && size.value() < 0; }

bool IsComplete(const std::optional<Dims>& shape) {
  return shape && std::none_of(shape->begin(), shape->end(), IsOpen);
}

absl::StatusOr<std::optional<Dims>> Merge(NodeImport& op, const std::optional<Dims>& a,
                                          const std::optional<Dims>& b) {
  if (!a || !b) return a ? a : b;
  bool fits = a->size() == b->size();
  Dims merged = *a;
  for (size_t i = 0; fits && i < merged.size(); ++i) {
    if (IsOpen(merged[i])) {
      merged[i] = (*b)[i];
    } else if (!IsOpen((*b)[i])) {
      fits = !ops::ProvablyDifferent(merged[i], (*b)[i]) && op.b().AssumeEqual(merged[i], (*b)[i]);
    }
  }
  if (!fits) return op.Refuse("elements of other shapes");
  return std::optional<Dims>(std::move(merged));
}

absl::Status Admit(NodeImport& op, const Dims& shape, TensorList* list) {
  TEKTITE_RETURN_IF_ERROR(Merge(op, list->declared, shape).status());
  TEKTITE_ASSIGN_OR_RETURN(list->element, Merge(op, list->element, shape));
  list->written = Written::kYes;
  list->written_value = Value();
  return absl::OkStatus();
}

absl::Status DescribeAs(NodeImport& op, std::optional<Dims> given, TensorList* list) {
  TEKTITE_ASSIGN_OR_RETURN(given, Merge(op, given, list->declared));
  TEKTITE_ASSIGN_OR_RETURN(std::optional<Dims> shape, Merge(op, list->element, given));
  if (IsComplete(shape)) list->element = std::move(shape);
  if (!list->element) return op.Refuse("the elements' shape is unknown");
  if (IsComplete(given) || list->written == Written::kYes) return absl::OkStatus();
  if (list->written == Written::kNo && !list->has_buffer) {
    return op.Refuse("the elements' shape is unknown");
  }
  if (list->written_value) op.Check(list->written_value);
  return absl::OkStatus();
}

void CheckBelow(NodeImport& op, Value a, Value b) { op.Check(op.b().Compare(a, b, "lt")); }

bool NeverBehind(const ValueRange& range, const Dim& end) {
  return ir::NeverLess(range.first, Dim(0)) && ir::NeverLess(end, range.behind);
}

std::optional<ValueRange> RangeOf(const TensorInfo& index) {
  if (index.contents && index.contents->size() == 1) {
    return ValueRange{index.contents->front(), index.contents->front() + Dim(1)};
  }
  return index.range;
}

std::optional<ValueRange> PlacesOf(const NodeImport& op, int input) {
  const TensorInfo& index = op.InputInfo(input);
  if (const std::optional<ValueRange> range = RangeOf(index); range || !index.value) return range;
  int ops_left = kMostOps;
  return RangeIn(op, index.value, &ops_left);
}

absl::Status CheckIndex(NodeImport& op, int input, const TensorList& list) {
  const std::optional<ValueRange> range = PlacesOf(op, input);
  if (range && list.length && NeverBehind(*range, *list.length)) return absl::OkStatus();
  FuncBuilder& b = op.b();
  const Value index = op.Input(input), length = LengthOf(list, &b);
  if (!index || !length) return absl::OkStatus();
  if (index.shape() != Shape(DType::kS32, Dims())) return op.Refuse("its index is no s32 scalar");
  CheckBelow(op, index, length);
  op.Check(b.Compare(index, b.FullLike(index, 0), "ge"));
  return absl::OkStatus();
}

void MakeRoom(FuncBuilder& b, const Dim& elements, TensorList* list) {
  if (!list->capacity || ir::NeverLess(*list->capacity, elements)) return;
  const Dim room = ir::Max(*list->capacity, elements);
  if (list->has_buffer && list->element) list->buffer = BufferWithRoom(*list, room, &b);
  list->capacity = room;
}

absl::Status GrowTo(NodeImport& op, int input, TensorList* list) {
  FuncBuilder& b = op.b();
  const std::optional<ValueRange> places = PlacesOf(op, input);
  if (places && list->length && NeverBehind(*places, *list->length)) return absl::OkStatus();
  const Value index = op.Input(input), length = LengthOf(*list, &b);
  if (!index || !length) return absl::OkStatus();
  if (index.shape() != Shape(DType::kS32, Dims())) return op.Refuse("its index is no s32 scalar");
  // How far behind the length the place is, where that is known.
  std::optional<int64_t> ahead;
  if (!list->length) ahead = StepBetween(length, index);
  const bool is_ahead = ahead.has_value();
  const int64_t by = ahead.value_or(0);
  if (by < 0) return CheckIndex(op, input, *list);
  if (!places || !ir::NeverLess(places->first, Dim(0)))
    op.Check(b.Compare(index, b.FullLike(index, 0), "ge"));
  std::optional<Dim> bound = places ? std::optional<Dim>(places->behind) : std::nullopt;
  if (!bound && is_ahead && list->length_range) bound = list->length_range->behind + Dim(by);
  const bool is_next =
      (is_ahead && by == 0) ||
      (list->length && places && ir::NeverLess(*list->length, places->behind - Dim(1)));
  if (list->has_leftovers && !is_next)
    return op.Refuse("it was longer, and grows by several elements");
  if (list->length && op.HasContents(input)) {
    list->length = ir::Max(*list->length, places->behind);
  } else {
    const Value behind = b.Add(index, b.FullLike(index, 1));
    list->length_value = is_ahead || list->length == Dim(0) ? behind : b.Max(length, behind);
    list->length.reset();
    list->length_range.reset();
  }
  if (bound) {
    list->reach = list->reach ? ir::Max(*list->reach, *bound) : *bound;
    MakeRoom(b, *bound, list);
    return absl::OkStatus();
  }
  list->capacity.reset();
  list->has_buffer = list->grows_anywhere = true;
  list->buffer = Value();
  op.Doubt(op.Refuse("nothing bounds the place to which a list of tensors grows"));
  return absl::OkStatus();
}

void Write(NodeImport& op, Value index, Value element, TensorList* list) {
  FuncBuilder& b = op.b();
  const Value buffer = HasRoom(*list) ? BufferOf(*list, &b) : Value();
  list->has_buffer = true;
  list->buffer = Value();
  if (!buffer || !element || !index) return;
  Dims dims = *list->element;
  dims.insert(dims.begin(), Dim(1));
  list->buffer = b.DynamicUpdateSlice(buffer, b.Reshape(element, dims),
                                      Starts(b, index, static_cast<int>(dims.size())));
}

Value Read(NodeImport& op, Value index, const TensorList& list) {
  if (list.is_uniform) return list.uniform;
  FuncBuilder& b = op.b();
  const Value buffer = HasRoom(list) ? BufferOf(list, &b) : Value();
  if (!buffer) return b.Full(list.dtype, 0, *list.element);
  Dims dims = *list.element;
  dims.insert(dims.begin(), Dim(1));
  const std::vector<Value> starts = Starts(b, index, static_cast<int>(dims.size()));
  return b.Reshape(b.DynamicSlice(buffer, starts, dims), *list.element);
}

absl::Status RequireNotNegative(NodeImport& op, const Dim& size) {
  if (ir::NeverLess(size, Dim(0))) return absl::OkStatus();
  if (size.is_constant()) return op.Refuse("a length of ", size.value());
  op.b().AssumeAtMost(Dim(0), size);
  return absl::OkStatus();
}

absl::StatusOr<Dims> EqualParts(NodeImport& op, int value, int lengths) {
  TEKTITE_ASSIGN_OR_RETURN(const Dims sizes, op.RequireContents(lengths));
  Dims dims = op.InputDims(value);
  if (dims.empty()) return op.Refuse("input ", value, " has no elements");
  if (sizes.empty() || op.InputRank(lengths) != 1) return op.Refuse("no parts");
  for (const Dim& size : sizes) {
    if (size != sizes[0]) return op.Refuse("parts of other sizes");
  }
  TEKTITE_RETURN_IF_ERROR(RequireNotNegative(op, sizes[0]));
  const Dim count(static_cast<int64_t>(sizes.size()));
  // Otherwise TensorFlow has an error to raise.
  if (ops::ProvablyDifferent(dims[0], count * sizes[0]) ||
      !op.b().AssumeEqual(dims[0], count * sizes[0])) {
    return op.Refuse("parts that do not add up");
  }
  dims[0] = sizes[0];
  dims.insert(dims.begin(), count);
  return dims;
}

absl::StatusOr<Value> Stacked(NodeImport& op, const TensorList& list) {
  FuncBuilder& b = op.b();
  if (list.is_uniform && list.length) {
    Dims dims = *list.element;
    dims.insert(dims.begin(), *list.length);
    return b.BroadcastTo(list.uniform, dims);
  }
  if (!list.capacity) return op.Refuse("the length of this list of tensors has no bound");
  const Value buffer = BufferOf(list, &b);
  if (!buffer) return op.Refuse("the length of this list of tensors has no bound");
  if (!list.length || *list.length == *list.capacity) return buffer;
  return b.SliceDim(buffer, 0, Dim(0), *list.length);
}

}  // namespace tektite::importer
