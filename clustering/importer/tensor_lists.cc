// Lists of tensors as buffers (tensor_info.h): reserved, filled, read, stacked.
//
// TensorFlow raises an error for an element out of range, where the IR clamps; so each place that
// is not known to be good adds a check (importer.h), and so does a list whose elements' shape only
// an element can tell, where there may be none.
#include "clustering/importer/tensor_lists.h"

#include <algorithm>
#include <utility>

#include "clustering/importer/carried_values.h"
#include "clustering/importer/gathering.h"
#include "clustering/importer/import_table.h"
#include "jit/ir/symbols.h"
#include "jit/ops/ops.h"

namespace tektite::importer {
namespace {

using Written = TensorList::Written;

bool IsOpen(const Dim& size) { return size.is_constant() && size.value() < 0; }

// The shape of elements that an input gives: -1 for open sizes; nothing where the rank is open.
absl::StatusOr<std::optional<Dims>> ElementShape(const NodeImport& op, int input) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, op.RequireContents(input));
  if (op.InputRank(input) > 0) return std::optional<Dims>(std::move(dims));
  if (dims.size() == 1 && IsOpen(dims[0])) return std::optional<Dims>();
  return op.Refuse("input ", input, " is no shape");
}

bool IsComplete(const std::optional<Dims>& shape) {
  return shape && std::none_of(shape->begin(), shape->end(), IsOpen);
}

// What two descriptions of a shape say together; sizes that both give are assumed to be equal.
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

// An element of this shape is put into the list.
absl::Status Admit(NodeImport& op, const Dims& shape, TensorList* list) {
  TEKTITE_RETURN_IF_ERROR(Merge(op, list->declared, shape).status());
  TEKTITE_ASSIGN_OR_RETURN(list->element, Merge(op, list->element, shape));
  list->written = Written::kYes;
  list->written_value = Value();
  return absl::OkStatus();
}

// The shape of the elements of a list that is read with a description of it.  Nothing where only
// an element can tell and none has been seen yet.
absl::Status Describe(NodeImport& op, int input, TensorList* list) {
  TEKTITE_ASSIGN_OR_RETURN(std::optional<Dims> given, ElementShape(op, input));
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

// 0 <= input < length, or TensorFlow raises an error.
absl::Status CheckIndex(NodeImport& op, int input, const TensorList& list) {
  const TensorInfo& info = op.InputInfo(input);
  std::optional<ValueRange> range = info.range;
  if (info.contents && info.contents->size() == 1) {
    range = ValueRange{info.contents->front(), info.contents->front() + Dim(1)};
  }
  if (range && list.length && NeverBehind(*range, *list.length)) return absl::OkStatus();
  FuncBuilder& b = op.b();
  const Value index = op.Input(input), length = LengthOf(list, &b);
  if (!index || !length) return absl::OkStatus();
  if (index.shape() != Shape(DType::kS32, Dims())) return op.Refuse("its index is no s32 scalar");
  CheckBelow(op, index, length);
  op.Check(b.Compare(index, b.FullLike(index, 0), "ge"));
  return absl::OkStatus();
}

std::vector<Value> Starts(FuncBuilder& b, Value first, int rank) {
  std::vector<Value> starts(rank, b.Scalar(DType::kS32, 0));
  starts[0] = first;
  return starts;
}

// From here on elements may differ.
void KeepApart(FuncBuilder& b, TensorList* list) {
  if (!list->is_uniform) return;
  list->buffer = BufferOf(*list, &b);
  list->is_uniform = false;
  list->uniform = Value();
}

// Without a buffer that can be had yet, the loop around imports its body again when there is one.
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

absl::StatusOr<Dim> OneSize(const NodeImport& op, int input) {
  TEKTITE_ASSIGN_OR_RETURN(const Dims sizes, op.RequireContents(input));
  if (sizes.size() != 1) return op.Refuse("input ", input, " must have one element");
  return sizes[0];
}

absl::StatusOr<TensorList> NewList(NodeImport& op, int element_shape) {
  TensorList list;
  TEKTITE_ASSIGN_OR_RETURN(list.dtype, op.Type("element_dtype", DType::kF32));
  TEKTITE_ASSIGN_OR_RETURN(list.declared, ElementShape(op, element_shape));
  if (IsComplete(list.declared)) list.element = list.declared;
  return list;
}

absl::Status RequireNotNegative(NodeImport& op, const Dim& size) {
  if (ir::NeverLess(size, Dim(0))) return absl::OkStatus();
  if (size.is_constant()) return op.Refuse("a length of ", size.value());
  op.b().AssumeAtMost(Dim(0), size);
  return absl::OkStatus();
}

// The elements as one tensor, and how many they are where that is not its size.
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

}  // namespace

absl::Status ImportListReserve(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, NewList(op, 0));
  TEKTITE_ASSIGN_OR_RETURN(list.length, OneSize(op, 1));
  TEKTITE_RETURN_IF_ERROR(RequireNotNegative(op, *list.length));
  list.capacity = list.length;
  return op.ReturnList(std::move(list));
}

absl::Status ImportEmptyList(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, NewList(op, 0));
  TEKTITE_ASSIGN_OR_RETURN(const Dim limit, OneSize(op, 1));
  if (!limit.is_constant() || limit.value() >= 0) {
    TEKTITE_RETURN_IF_ERROR(RequireNotNegative(op, limit));
    list.limit = limit;
  }
  list.length = list.capacity = Dim(0);
  return op.ReturnList(std::move(list));
}

absl::Status ImportListFromTensor(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, NewList(op, 1));
  const Dims& dims = op.InputDims(0);
  if (dims.empty() || op.InputDType(0) != list.dtype) return op.Refuse("input 0 has no elements");
  list.length = list.capacity = dims[0];
  TEKTITE_RETURN_IF_ERROR(Admit(op, Dims(dims.begin() + 1, dims.end()), &list));
  list.has_buffer = true;
  list.buffer = op.Input(0);
  if (list.buffer) list.buffer = op.b().Reshape(list.buffer, BufferShape(list).dims());
  return op.ReturnList(std::move(list));
}

absl::Status ImportListSetItem(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, op.List(0));
  TEKTITE_RETURN_IF_ERROR(CheckIndex(op, 1, list));
  if (op.InputDType(2) != list.dtype) return op.Refuse("an element of another type");
  TEKTITE_RETURN_IF_ERROR(Admit(op, op.InputDims(2), &list));
  list.contents.reset();
  KeepApart(op.b(), &list);
  Write(op, op.Input(1), op.Input(2), &list);
  return op.ReturnList(std::move(list));
}

absl::Status ImportListGetItem(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, op.List(0));
  TEKTITE_RETURN_IF_ERROR(CheckIndex(op, 1, list));
  TEKTITE_RETURN_IF_ERROR(Describe(op, 2, &list));
  if (list.contents) return op.ReturnContents(list.dtype, *list.element, *list.contents);
  return op.Return(Read(op, op.Input(1), list));
}

absl::Status ImportListPushBack(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, op.List(0));
  const TensorInfo& element = op.InputInfo(1);
  if (element.shape.dtype() != list.dtype) return op.Refuse("an element of another type");
  TEKTITE_RETURN_IF_ERROR(Admit(op, op.InputDims(1), &list));
  const bool is_first = list.length == Dim(0);
  if (is_first) {
    list.contents = element.contents;
  } else if (list.contents != element.contents) {
    list.contents.reset();
  }
  const Value pushed = op.Input(1);
  const bool stays_uniform = list.is_uniform && list.uniform == pushed;
  const bool is_uniform = (is_first && !element.contents) || stays_uniform;
  const Value length = LengthOf(list, &b);
  const bool grows = list.length && list.capacity == list.length;
  for (const std::optional<Dim>& bound : {list.limit, grows ? std::nullopt : list.capacity}) {
    if (!bound || !length) continue;
    const std::optional<ValueRange> range =
        list.length ? ValueRange{*list.length, *list.length + Dim(1)} : list.length_range;
    if (!range || !NeverBehind(*range, *bound))
      CheckBelow(op, length, op.DimValue(*bound, DType::kS32));
  }
  if (is_uniform) {
    list.is_uniform = list.has_buffer = true;
    list.uniform = pushed;
    list.buffer = Value();
    if (grows) *list.capacity = *list.capacity + Dim(1);
  } else if (grows) {
    const Value before = BufferOf(list, &b);
    KeepApart(b, &list);
    *list.capacity = *list.capacity + Dim(1);
    Dims dims = *list.element;
    dims.insert(dims.begin(), Dim(1));
    Value row = pushed;
    if (row) row = b.Reshape(row, dims);
    list.buffer = is_first ? row : b.Concatenate({before, row}, 0);
    list.has_buffer = true;
  } else {
    KeepApart(b, &list);
    Write(op, length, pushed, &list);
  }
  if (list.length) {
    *list.length = *list.length + Dim(1);
  } else if (length) {
    list.length_value = b.Add(length, b.FullLike(length, 1));
    list.length_range.reset();
  }
  return op.ReturnList(std::move(list));
}

absl::Status ImportListPopBack(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, op.List(0));
  TEKTITE_RETURN_IF_ERROR(Describe(op, 1, &list));
  const Value length = LengthOf(list, &b);
  if (!length) return op.Return(length);
  const Dim fewest =
      list.length ? *list.length : list.length_range.value_or(ValueRange{Dim(0), Dim(0)}).first;
  if (!ir::NeverLess(fewest, Dim(1))) op.Check(b.Compare(length, b.FullLike(length, 0), "gt"));
  const Value last = b.Sub(length, b.FullLike(length, 1));
  const Value element = list.contents ? Value() : Read(op, last, list);
  TensorList rest = list;
  if (rest.length) {
    *rest.length = *rest.length - Dim(1);
  } else {
    rest.length_value = last;
    rest.length_range.reset();
  }
  const DType dtype = list.dtype;
  TEKTITE_RETURN_IF_ERROR(op.ReturnList(std::move(rest)));
  if (list.contents) return op.ReturnContents(dtype, *list.element, *list.contents);
  return op.Return(element);
}

absl::Status ImportListStack(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, op.List(0));
  TEKTITE_ASSIGN_OR_RETURN(const std::optional<Dims> given, ElementShape(op, 1));
  TEKTITE_RETURN_IF_ERROR(Describe(op, 1, &list));
  TEKTITE_ASSIGN_OR_RETURN(const std::optional<Dims> told, Merge(op, given, list.declared));
  const int64_t expected = op.attrs().Int("num_elements", -1);
  if (expected >= 0) {
    if (!list.length || !b.AssumeEqual(*list.length, Dim(expected))) {
      return op.Refuse("as many elements as ", expected);
    }
  }
  if (!IsComplete(told) && !(list.length && ir::NeverLess(*list.length, Dim(1)))) {
    const Value length = LengthOf(list, &b);
    if (length) op.Check(b.Compare(length, b.FullLike(length, 0), "gt"));
  }
  TEKTITE_ASSIGN_OR_RETURN(const Value stacked, Stacked(op, list));
  if (list.length) return op.Return(stacked);
  return op.ReturnRows(stacked, b.Convert(LengthOf(list, &b), DType::kS64));
}

absl::Status ImportListGather(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, op.List(0));
  TEKTITE_RETURN_IF_ERROR(Describe(op, 2, &list));
  if (!list.length) return op.Refuse("only values tell the length of this list of tensors");
  TEKTITE_ASSIGN_OR_RETURN(const Value stacked, Stacked(op, list));
  return GatherRows(op, stacked, 1, 0, 0);
}

// All elements, one behind the other along their first dimension, and how long each is there.
absl::Status ImportListConcat(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, op.List(0));
  TEKTITE_RETURN_IF_ERROR(Describe(op, 1, &list));
  if (!list.length) return op.Refuse("only values tell the length of this list of tensors");
  if (list.element->empty()) return op.Refuse("scalars cannot be concatenated");
  TEKTITE_ASSIGN_OR_RETURN(const Value stacked, Stacked(op, list));
  const Dim each = list.element->front();
  Dims dims = *list.element;
  dims[0] = *list.length * each;
  TEKTITE_RETURN_IF_ERROR(op.Return(b.Reshape(stacked, dims)));
  return op.Return(b.BroadcastTo(op.DimValue(each, DType::kS64), {*list.length}));
}

// The parts of a tensor along its first dimension, which must be of one size here.
absl::Status ImportListSplit(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, NewList(op, 1));
  TEKTITE_ASSIGN_OR_RETURN(const Dims sizes, op.RequireContents(2));
  Dims dims = op.InputDims(0);
  if (dims.empty() || op.InputDType(0) != list.dtype) return op.Refuse("input 0 has no elements");
  if (sizes.empty() || op.InputRank(2) != 1) return op.Refuse("no parts");
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
  list.length = list.capacity = count;
  TEKTITE_RETURN_IF_ERROR(Admit(op, dims, &list));
  list.has_buffer = true;
  list.buffer = op.Input(0);
  if (list.buffer) list.buffer = op.b().Reshape(list.buffer, BufferShape(list).dims());
  return op.ReturnList(std::move(list));
}

// Elements that are not set stay so, which zeros are, too.
absl::Status ImportListZerosLike(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, op.List(0));
  list.has_buffer = list.is_uniform = false;
  list.buffer = list.uniform = Value();
  list.contents.reset();
  return op.ReturnList(std::move(list));
}

// Lists of the same length, element by element.
absl::Status ImportListAddN(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(TensorList sum, op.List(0));
  KeepApart(b, &sum);
  for (int i = 1; i < op.num_inputs(); ++i) {
    TEKTITE_ASSIGN_OR_RETURN(const TensorList list, op.List(i));
    if (list.dtype != sum.dtype) return op.Refuse("lists of other types");
    if (!list.length || !sum.length || !b.AssumeEqual(*list.length, *sum.length)) {
      return op.Refuse("lists of tensors whose lengths may differ");
    }
    TEKTITE_ASSIGN_OR_RETURN(sum.declared, Merge(op, sum.declared, list.declared));
    TEKTITE_ASSIGN_OR_RETURN(sum.element, Merge(op, sum.element, list.element));
    if (list.written == Written::kYes || sum.written == Written::kNo) {
      sum.written = list.written;
      sum.written_value = list.written_value;
    }
    if (!list.has_buffer) continue;
    const bool is_first = !sum.has_buffer;
    sum.has_buffer = true;
    const Value added = HasRoom(list) ? BufferOf(list, &b) : Value();
    if (is_first) {
      sum.buffer = added;
      sum.capacity = list.capacity;
    } else if (sum.buffer && added) {
      if (sum.capacity != list.capacity) return op.Refuse("lists of tensors with other room");
      sum.buffer = b.Add(sum.buffer, added);
    } else {
      sum.buffer = Value();
    }
  }
  sum.contents.reset();
  return op.ReturnList(std::move(sum));
}

absl::Status ImportListLength(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const TensorList list, op.List(0));
  if (list.length) return op.ReturnContents(DType::kS32, {}, {*list.length});
  return op.Return(list.length_value);
}

absl::Status ImportListElementShape(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const TensorList list, op.List(0));
  TEKTITE_ASSIGN_OR_RETURN(const DType dtype, op.Type("shape_type", DType::kS32));
  if (!list.declared) return op.ReturnContents(dtype, {}, {Dim(-1)});
  return op.ReturnContents(dtype, {Dim(static_cast<int64_t>(list.declared->size()))},
                           *list.declared);
}

}  // namespace tektite::importer
