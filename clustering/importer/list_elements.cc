#include "clustering/importer/list_elements.h"

#include <algorithm>
#include <utility>

#include "clustering/importer/carried_values.h"
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

absl::Status CheckIndex(NodeImport& op, int input, const TensorList& list) {
  const std::optional<ValueRange> range = RangeOf(op.InputInfo(input));
  if (range && list.length && NeverBehind(*range, *list.length)) return absl::OkStatus();
  FuncBuilder& b = op.b();
  const Value index = op.Input(input), length = LengthOf(list, &b);
  if (!index || !length) return absl::OkStatus();
  if (index.shape() != Shape(DType::kS32, Dims())) return op.Refuse("its index is no s32 scalar");
  CheckBelow(op, index, length);
  op.Check(b.Compare(index, b.FullLike(index, 0), "ge"));
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
