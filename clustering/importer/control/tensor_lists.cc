// Lists of tensors as buffers (tensor_info.h): reserved, filled, read, stacked.
//
// TensorFlow raises an error for an element out of range, where the IR clamps; so each place that
// is not known to be good adds a check (importer.h), and so does a list whose elements' shape only
// an element can tell, where there may be none.
#include "clustering/importer/control/tensor_lists.h"

#include <algorithm>
#include <utility>

#include "clustering/importer/control/carried_values.h"
#include "clustering/importer/control/list_elements.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/gathering.h"
#include "jit/ir/symbols.h"
#include "jit/ops/ops.h"

namespace tektite::importer {
namespace {

using Written = TensorList::Written;

// The shape of elements that an input gives: -1 for open sizes; nothing where the rank is open.
absl::StatusOr<std::optional<Dims>> ElementShape(const NodeImport& op, int input) {
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, op.RequireContents(input));
  if (op.InputRank(input) > 0) return std::optional<Dims>(std::move(dims));
  if (dims.size() == 1 && IsOpen(dims[0])) return std::optional<Dims>();
  return op.Refuse("input ", input, " is no shape");
}

// The shape of the elements of a list that is read with a description of it.  Nothing where only
// an element can tell and none has been seen yet.
absl::Status Describe(NodeImport& op, int input, TensorList* list) {
  TEKTITE_ASSIGN_OR_RETURN(std::optional<Dims> given, ElementShape(op, input));
  return DescribeAs(op, std::move(given), list);
}

// From here on elements may differ.
void KeepApart(FuncBuilder& b, TensorList* list) {
  if (!list->is_uniform) return;
  list->buffer = BufferOf(*list, &b);
  list->is_uniform = false;
  list->uniform = Value();
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

// A list of the parts of input 0 along its first dimension, seen as `dims`.
absl::Status ReturnParts(NodeImport& op, const Dims& dims) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, NewList(op, 1));
  if (dims.empty() || op.InputDType(0) != list.dtype) return op.Refuse("input 0 has no elements");
  list.length = list.capacity = dims[0];
  TEKTITE_RETURN_IF_ERROR(Admit(op, Dims(dims.begin() + 1, dims.end()), &list));
  list.has_buffer = true;
  list.buffer = op.Input(0);
  if (list.buffer) list.buffer = op.b().Reshape(list.buffer, BufferShape(list).dims());
  return op.ReturnList(std::move(list));
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

absl::Status ImportListFromTensor(NodeImport& op) { return ReturnParts(op, op.InputDims(0)); }

absl::Status ImportListSetItem(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, op.List(0));
  if (op.InputDType(2) != list.dtype) return op.Refuse("an element of another type");
  TEKTITE_RETURN_IF_ERROR(Admit(op, op.InputDims(2), &list));
  list.contents.reset();
  KeepApart(op.b(), &list);
  if (op.attrs().Bool("resize_if_index_out_of_bounds", false)) {
    TEKTITE_RETURN_IF_ERROR(GrowTo(op, 1, &list));
  } else {
    TEKTITE_RETURN_IF_ERROR(CheckIndex(op, 1, list));
  }
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
  rest.has_leftovers = true;
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
    if (list.length) {
      if (!b.AssumeEqual(*list.length, Dim(expected)))
        return op.Refuse("as many elements as ", expected);
    } else if (const Value length = LengthOf(list, &b); length) {
      op.Check(b.Compare(length, b.FullLike(length, static_cast<double>(expected)), "eq"));
      MakeRoom(b, Dim(expected), &list);
      list.length = Dim(expected);
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
  if (!list.length) {
    const Value indices = op.Input(1), length = LengthOf(list, &op.b());
    if (indices && length) CheckBelow(op, indices, op.b().BroadcastTo(length, op.InputDims(1)));
  }
  TEKTITE_ASSIGN_OR_RETURN(const Value stacked, Stacked(op, list));
  return GatherRows(op, stacked, 1, 0, 0);
}

// All elements, one behind the other along their first dimension, and how long each is there.
absl::Status ImportListConcat(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, op.List(0));
  TEKTITE_RETURN_IF_ERROR(Describe(op, 1, &list));
  if (list.element->empty()) return op.Refuse("scalars cannot be concatenated");
  TEKTITE_ASSIGN_OR_RETURN(const Value stacked, Stacked(op, list));
  const Dim each = list.element->front();
  const Dim& elements = list.length ? *list.length : *list.capacity;
  Dims dims = *list.element;
  dims[0] = elements * each;
  const Value whole = b.Reshape(stacked, dims), size = op.DimValue(each, DType::kS64);
  const Value sizes = b.BroadcastTo(size, {elements});
  if (list.length) return op.Return({whole, sizes});
  const Value length = b.Convert(LengthOf(list, &b), DType::kS64);
  TEKTITE_RETURN_IF_ERROR(op.ReturnRows(whole, b.Mul(length, size)));
  return op.ReturnRows(sizes, length);
}

// The parts of a tensor along its first dimension.
absl::Status ImportListSplit(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const Dims dims, EqualParts(op, 0, 2));
  return ReturnParts(op, dims);
}

// The elements behind the new length are gone; new ones are not set.
absl::Status ImportListResize(NodeImport& op) {
  FuncBuilder& b = op.b();
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, op.List(0));
  KeepApart(b, &list);
  list.contents.reset();
  if (op.HasContents(1)) {
    TEKTITE_ASSIGN_OR_RETURN(const Dim size, OneSize(op, 1));
    TEKTITE_RETURN_IF_ERROR(RequireNotNegative(op, size));
    const bool is_less = list.length && ir::NeverLess(*list.length, size);
    if (list.has_leftovers && !is_less) return op.Refuse("it was longer, and grows");
    list.has_leftovers |= !(list.length && ir::NeverLess(size, *list.length));
    MakeRoom(b, size, &list);
    list.length = size;
    list.length_value = Value();
  } else if (const Value size = op.Input(1), length = LengthOf(list, &b); size && length) {
    // Longer than it was it does not become.
    op.Check(b.Compare(size, b.FullLike(size, 0), "ge"));
    op.Check(b.Compare(size, length, "le"));
    list.has_leftovers = true;
    list.length.reset();
    list.length_value = size;
  }
  list.length_range.reset();
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
