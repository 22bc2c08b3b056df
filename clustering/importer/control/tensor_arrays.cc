#include "clustering/importer/control/tensor_arrays.h"

#include <utility>

#include "clustering/importer/control/carried_values.h"
#include "clustering/importer/control/list_elements.h"
#include "clustering/importer/control/trip_count.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/movement/gathering.h"
#include "jit/ir/symbols.h"
#include "jit/ops/ops.h"

namespace tektite::importer {
namespace {

using Reads = ArrayHandle::Reads;

// A shape that an attribute gives: -1 for open sizes; nothing where the rank is open.
std::optional<Dims> ShapeAttr(const NodeImport& op, absl::string_view name) {
  const graph_def::AttrValue* attr = op.attrs().Find(name);
  const auto* shape = attr == nullptr ? nullptr : attr->As<graph_def::PartialShape>();
  if (shape == nullptr || shape->unknown_rank) return std::nullopt;
  return Dims(shape->dims.begin(), shape->dims.end());
}

// The content of the array that input 0 is the handle of, from its flow.
absl::StatusOr<TensorList> ArrayOf(const NodeImport& op, int flow) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, op.List(flow));
  if (!op.InputInfo(0).array || !list.array || list.array->handle != op.InputInfo(0).array) {
    return op.Refuse("input ", flow, " is the flow of another array");
  }
  return list;
}

bool Overlap(const Reads& a, const Reads& b) {
  if (!a.places || !b.places) return true;
  return !ir::NeverLess(b.places->first, a.places->behind) &&
         !ir::NeverLess(a.places->first, b.places->behind);
}

// The node reads these places.
absl::Status NoteReads(NodeImport& op, Reads reads) {
  const TensorInfo& handle = op.InputInfo(0);
  handle.array->reads[&op.node()] = std::move(reads);
  return handle.array_loops == 0 ? CheckReads(op, *handle.array) : absl::OkStatus();
}

// The places that an index of a loop's body has in all turns, each once: it is a counter, or a
// counter and a constant.
std::optional<Reads> CountedPlaces(const NodeImport& op, Value index) {
  if (!index || op.scope().arguments == nullptr) return std::nullopt;
  for (const TensorInfo& counter : *op.scope().arguments) {
    const std::optional<int64_t> ahead =
        counter.counts && counter.value ? StepBetween(counter.value, index) : std::nullopt;
    if (!ahead) continue;
    Reads reads{counter.range, true};
    if (reads.places) {
      reads.places->first = reads.places->first + Dim(*ahead);
      reads.places->behind = reads.places->behind + Dim(*ahead);
    }
    return reads;
  }
  return std::nullopt;
}

bool IsNext(const NextPlace& next, const TensorInfo& index) {
  if (next.known) return index.contents && index.contents->front() == *next.known;
  return next.base && index.value && StepBetween(next.base, index.value) == next.offset;
}

// Everything before the index' place has been written, and now this.
absl::Status Advance(NodeImport& op, int input, ArrayState* array) {
  const TensorInfo& index = op.InputInfo(input);
  NextPlace& next = array->next;
  if (!IsNext(next, index)) {
    if (!next.is_open) return op.Refuse("an array is not written in order");
    array->is_unproven = true;
  }
  next = NextPlace();
  if (index.contents) {
    next.known = index.contents->front() + Dim(1);
  } else {
    next.base = index.value;
    next.offset = 1;
  }
  NoteWrite(array);
  return absl::OkStatus();
}

// Whether a place that is not written is known to be zeros.
bool UnsetAreZeros(const ArrayState& array) {
  return array.unset_are_zeros && !array.is_stale && array.writes == array.handle->writes;
}

// Place `input` has been written, or TensorFlow raises an error.
void CheckWritten(NodeImport& op, int input, const TensorList& list) {
  if (UnsetAreZeros(*list.array)) return;
  const std::optional<Dim>& known = list.array->next.known;
  const std::optional<ValueRange> range = RangeOf(op.InputInfo(input));
  if (known && range && NeverBehind(*range, *known)) return;
  const Value index = op.Input(input), next = NextOf(list, &op.b());
  if (index && next) CheckBelow(op, index, next);
}

// So have all places.
void CheckAllWritten(NodeImport& op, const TensorList& list) {
  if (UnsetAreZeros(*list.array)) return;
  const std::optional<Dim>& known = list.array->next.known;
  if (known && ir::NeverLess(*known, *list.length)) return;
  const Value next = NextOf(list, &op.b());
  if (next) op.Check(op.b().Compare(next, op.DimValue(*list.length, DType::kS32), "ge"));
}

// Whether the input is 0, 1, ...
bool CountsUp(NodeImport& op, int input) {
  if (op.InputRank(input) != 1) return false;
  const TensorInfo& info = op.InputInfo(input);
  if (!info.contents) return info.value && info.value.node->op() == Op::kIota;
  int64_t place = 0;
  for (const Dim& index : *info.contents) {
    if (index != Dim(place++)) return false;
  }
  return true;
}

// All places get the rows of a tensor.
absl::Status Fill(NodeImport& op, int input, Dims dims, TensorList* list) {
  if (list->array->next.known != Dim(0)) return op.Refuse("an array is not written in order");
  if (dims.empty() || op.InputDType(input) != list->dtype) {
    return op.Refuse("input ", input, " has no elements");
  }
  // Otherwise TensorFlow has an error to raise.
  if (ops::ProvablyDifferent(dims[0], *list->length) ||
      !op.b().AssumeEqual(dims[0], *list->length)) {
    return op.Refuse("another number of elements than the array has");
  }
  dims[0] = *list->length;
  TEKTITE_RETURN_IF_ERROR(Admit(op, Dims(dims.begin() + 1, dims.end()), list));
  list->array->next.known = list->length;
  NoteWrite(&*list->array);
  list->has_buffer = true;
  list->buffer = op.Input(input);
  if (list->buffer) list->buffer = op.b().Reshape(list->buffer, BufferShape(*list).dims());
  return absl::OkStatus();
}

Reads WholeOnce(const TensorList& list) { return {ValueRange{Dim(0), *list.length}, true}; }

// The array as a list of which `count` elements are read at once.
absl::StatusOr<TensorList> WholeArray(NodeImport& op, TensorList list, const Dim& count,
                                      std::optional<Dims> element) {
  TEKTITE_RETURN_IF_ERROR(DescribeAs(op, element, &list));
  // Of no elements the node must tell the shape; for TensorFlow the array's own does not.
  if (!IsComplete(element) && !ir::NeverLess(count, Dim(1))) {
    const Value elements = op.DimValue(count, DType::kS64);
    if (elements) op.Check(op.b().Compare(elements, op.b().FullLike(elements, 0), "gt"));
  }
  CheckAllWritten(op, list);
  return list;
}

}  // namespace

void NoteStale(TensorInfo* info) {
  if (!info->list || !info->list->array) return;
  ArrayState& array = *info->list->array;
  array.is_stale |= array.writes != array.handle->writes;
}

void EnterRegion(ArrayState* array) { array->writes = array->handle->writes; }

void NoteWrite(ArrayState* array) { array->writes = ++array->handle->writes; }

absl::Status CheckReads(const NodeImport& op, const ArrayHandle& array) {
  if (!array.clears) return absl::OkStatus();
  for (auto a = array.reads.begin(); a != array.reads.end(); ++a) {
    bool is_once = a->second.is_once;
    for (auto b = std::next(a); b != array.reads.end(); ++b) {
      is_once = is_once && !Overlap(a->second, b->second);
    }
    if (!is_once) return op.Refuse("an element may be read twice, but is cleared when it is read");
  }
  return absl::OkStatus();
}

absl::Status ImportArray(NodeImport& op) {
  TensorList list;
  TEKTITE_ASSIGN_OR_RETURN(list.dtype, op.Type("dtype", DType::kF32));
  list.declared = ShapeAttr(op, "element_shape");
  if (IsComplete(list.declared)) list.element = list.declared;
  TEKTITE_ASSIGN_OR_RETURN(const Dims size, op.RequireContents(0));
  if (size.size() != 1) return op.Refuse("its size is no scalar");
  TEKTITE_RETURN_IF_ERROR(RequireNotNegative(op, size[0]));
  list.length = list.capacity = size[0];
  TensorInfo handle;
  handle.shape = Shape(DType::kS32, Dims());
  handle.unusable = "is the handle of an array";
  handle.array = std::make_shared<ArrayHandle>();
  handle.array->clears = op.attrs().Bool("clear_after_read", true);
  list.array.emplace();
  list.array->handle = handle.array;
  list.array->next.known = Dim(0);
  // The first element completes the shape where all have the same.
  list.array->unset_are_zeros =
      IsComplete(list.declared) || op.attrs().Bool("identical_element_shapes", false);
  op.results().push_back(std::move(handle));
  return op.ReturnList(std::move(list));
}

absl::Status ImportArrayClose(NodeImport&) { return absl::OkStatus(); }

absl::Status ImportArraySize(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const TensorList list, ArrayOf(op, 1));
  return op.ReturnContents(DType::kS32, {}, {*list.length});
}

absl::Status ImportArrayWrite(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, ArrayOf(op, 3));
  TEKTITE_RETURN_IF_ERROR(CheckIndex(op, 1, list));
  if (op.InputDType(2) != list.dtype) return op.Refuse("an element of another type");
  TEKTITE_RETURN_IF_ERROR(Admit(op, op.InputDims(2), &list));
  TEKTITE_RETURN_IF_ERROR(Advance(op, 1, &*list.array));
  Write(op, op.Input(1), op.Input(2), &list);
  return op.ReturnList(std::move(list));
}

absl::Status ImportArrayRead(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(const TensorList array, ArrayOf(op, 2));
  TensorList list = array;
  TEKTITE_RETURN_IF_ERROR(CheckIndex(op, 1, list));
  CheckWritten(op, 1, list);
  TEKTITE_RETURN_IF_ERROR(DescribeAs(op, std::nullopt, &list));
  const int loops = op.InputInfo(0).array_loops;
  Reads reads{RangeOf(op.InputInfo(1)), loops == 0};
  const std::optional<Reads> counted = CountedPlaces(op, op.InputInfo(1).value);
  if (loops == 1 && counted) reads = *counted;
  TEKTITE_RETURN_IF_ERROR(NoteReads(op, std::move(reads)));
  return op.Return(Read(op, op.Input(1), list));
}

absl::Status ImportArrayGather(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, ArrayOf(op, 2));
  if (op.InputRank(1) != 1) return op.Refuse("its indices are no vector");
  const Dim count = op.InputDims(1)[0];
  TEKTITE_ASSIGN_OR_RETURN(list,
                           WholeArray(op, std::move(list), count, ShapeAttr(op, "element_shape")));
  TEKTITE_ASSIGN_OR_RETURN(const Value stacked, Stacked(op, list));
  const bool is_outside = op.InputInfo(0).array_loops == 0;
  if (CountsUp(op, 1) && count == *list.length) {
    TEKTITE_RETURN_IF_ERROR(NoteReads(op, {WholeOnce(list).places, is_outside}));
    return op.Return(stacked);
  }
  TEKTITE_RETURN_IF_ERROR(NoteReads(op, {}));
  return GatherRows(op, stacked, 1, 0, 0);
}

absl::Status ImportArrayScatter(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, ArrayOf(op, 3));
  if (!CountsUp(op, 1)) return op.Refuse("an array is not written in order");
  TEKTITE_RETURN_IF_ERROR(Fill(op, 2, op.InputDims(2), &list));
  const Dim count = op.InputDims(1)[0];
  if (ops::ProvablyDifferent(count, *list.length) || !op.b().AssumeEqual(count, *list.length)) {
    return op.Refuse("another number of places than of elements");
  }
  return op.ReturnList(std::move(list));
}

// The parts of a tensor along its first dimension.
absl::Status ImportArraySplit(NodeImport& op) {
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, ArrayOf(op, 3));
  TEKTITE_ASSIGN_OR_RETURN(Dims dims, EqualParts(op, 1, 2));
  TEKTITE_RETURN_IF_ERROR(Fill(op, 1, std::move(dims), &list));
  return op.ReturnList(std::move(list));
}

// All elements, one behind the other along their first dimension, and how long each is there.
absl::Status ImportArrayConcat(NodeImport& op) {
  std::optional<Dims> element = ShapeAttr(op, "element_shape_except0");
  if (element) element->insert(element->begin(), Dim(-1));
  TEKTITE_ASSIGN_OR_RETURN(TensorList list, ArrayOf(op, 1));
  const Dim count = *list.length;
  TEKTITE_ASSIGN_OR_RETURN(list, WholeArray(op, std::move(list), count, std::move(element)));
  TEKTITE_RETURN_IF_ERROR(
      NoteReads(op, {WholeOnce(list).places, op.InputInfo(0).array_loops == 0}));
  if (list.element->empty()) return op.Refuse("scalars cannot be concatenated");
  TEKTITE_ASSIGN_OR_RETURN(const Value stacked, Stacked(op, list));
  const Dim each = list.element->front();
  Dims dims = *list.element;
  dims[0] = *list.length * each;
  TEKTITE_RETURN_IF_ERROR(op.Return(op.b().Reshape(stacked, dims)));
  return op.Return(op.b().BroadcastTo(op.DimValue(each, DType::kS64), {*list.length}));
}

}  // namespace tektite::importer
