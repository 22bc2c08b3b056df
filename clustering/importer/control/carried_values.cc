#include "clustering/importer/control/carried_values.h"

#include <utility>

#include "jit/base/status.h"
#include "jit/ops/ops.h"

namespace tektite::importer {
namespace {

using Written = TensorList::Written;

// Drops a fact that is not the same on both sides.
template <typename T>
void Agree(const std::optional<T>& theirs, std::optional<T>* ours, bool* changed) {
  if (!*ours || (theirs && **ours == *theirs)) return;
  ours->reset();
  *changed = true;
}

absl::Status JoinDims(const Dims& theirs, const Dims& ours, FuncBuilder* b) {
  bool same = theirs.size() == ours.size();
  for (size_t i = 0; same && i < ours.size(); ++i) {
    same = !ops::ProvablyDifferent(theirs[i], ours[i]) && b->AssumeEqual(theirs[i], ours[i]);
  }
  if (same) return absl::OkStatus();
  return Unimplemented("its shape changes from ", Shape(DType::kF32, ours).ToString().substr(3),
                       " to ", Shape(DType::kF32, theirs).ToString().substr(3));
}

absl::Status JoinArrays(const TensorList& theirs, TensorList* ours, bool* changed) {
  if (theirs.array.has_value() != ours->array.has_value() ||
      (theirs.array && theirs.array->handle != ours->array->handle)) {
    return Unimplemented("it becomes another array");
  }
  if (ours->array) Agree(theirs.array->next.known, &ours->array->next.known, changed);
  return absl::OkStatus();
}

// Whether the next place of an array is carried as a value.
bool CarriesNext(const TensorList& facts) {
  return facts.array && !facts.array->next.known && !facts.array->next.same_as;
}

absl::Status JoinLists(const TensorList& theirs, FuncBuilder* b, TensorList* ours, bool* changed) {
  if (theirs.dtype != ours->dtype || theirs.declared != ours->declared ||
      theirs.limit != ours->limit) {
    return Unimplemented("it becomes another list of tensors");
  }
  TEKTITE_RETURN_IF_ERROR(JoinArrays(theirs, ours, changed));
  if (!ours->element && theirs.element) {
    ours->element = theirs.element;
    *changed = true;
  } else if (ours->element && theirs.element) {
    TEKTITE_RETURN_IF_ERROR(JoinDims(*theirs.element, *ours->element, b));
  }
  Agree(theirs.length, &ours->length, changed);
  Agree(theirs.capacity, &ours->capacity, changed);
  if (theirs.has_leftovers && !ours->has_leftovers) ours->has_leftovers = *changed = true;
  if (theirs.reach) ours->reach = ours->reach ? ir::Max(*ours->reach, *theirs.reach) : theirs.reach;
  ours->grows_anywhere |= theirs.grows_anywhere;
  if (ours->is_uniform && !theirs.is_uniform) {
    ours->is_uniform = false;
    ours->uniform_of.reset();
    *changed = true;
  }
  if (theirs.has_buffer && !ours->has_buffer) {
    ours->contents = theirs.contents;  // of all elements that there are, when there are none
    ours->has_buffer = true;
    *changed = true;
  }
  Agree(theirs.contents, &ours->contents, changed);
  if (theirs.written != ours->written && ours->written != Written::kMaybe) {
    ours->written = Written::kMaybe;
    *changed = true;
  }
  return absl::OkStatus();
}

// The list's buffer with this shape, which has room for as many elements or for more.
Value BufferLike(const TensorList& list, const Shape& shape, FuncBuilder* b) {
  if (!list.has_buffer) return b->Full(list.dtype, 0, shape.dims());
  if (list.is_uniform) return b->BroadcastTo(list.uniform, shape.dims());
  if (!list.buffer || list.capacity == shape.dim(0)) return list.buffer;
  const std::vector<Value> starts(shape.rank(), b->Scalar(DType::kS32, 0));
  return b->DynamicUpdateSlice(b->Full(list.dtype, 0, shape.dims()), list.buffer, starts);
}

Value Scalar(FuncBuilder* b, bool value) { return b->Constant(Literal::Scalar<bool>(value)); }

}  // namespace

TensorInfo FactsOf(const TensorInfo& info) {
  TensorInfo facts = info;
  facts.value = facts.imaginary = facts.rows = Value();
  if (facts.list) {
    facts.list->length_value = facts.list->buffer = facts.list->written_value = Value();
    facts.list->uniform = Value();
    if (facts.list->array) {
      facts.list->array->next.base = Value();
      facts.list->array->next.offset = 0;
      facts.list->array->is_unproven = false;
    }
  }
  facts.counts = false;
  return facts;
}

absl::Status Join(const TensorInfo& info, FuncBuilder* b, TensorInfo* facts, bool* changed) {
  if (info.list.has_value() != facts->list.has_value() || info.is_resource != facts->is_resource ||
      info.unusable.empty() != facts->unusable.empty() || info.is_complex != facts->is_complex) {
    return Unimplemented("it becomes another kind of value");
  }
  if (info.array != facts->array) return Unimplemented("it becomes another array");
  if (info.rows) return Unimplemented("only values tell how many rows it has");
  if (facts->list) return JoinLists(*info.list, b, &*facts->list, changed);
  if (!facts->unusable.empty()) return absl::OkStatus();
  if (info.shape.dtype() != facts->shape.dtype()) return Unimplemented("its type changes");
  TEKTITE_RETURN_IF_ERROR(JoinDims(info.shape.dims(), facts->shape.dims(), b));
  Agree(info.contents, &facts->contents, changed);
  Agree(info.literal, &facts->literal, changed);
  Agree(info.range, &facts->range, changed);
  return absl::OkStatus();
}

bool HasRoom(const TensorList& list) { return list.capacity && list.element; }

Shape BufferShape(const TensorList& list) {
  Dims dims = *list.element;
  dims.insert(dims.begin(), *list.capacity);
  return Shape(list.dtype, dims);
}

Value BufferWithRoom(const TensorList& list, const Dim& capacity, FuncBuilder* b) {
  TensorList larger = list;
  larger.capacity = capacity;
  return BufferLike(list, BufferShape(larger), b);
}

Value BufferOf(const TensorList& list, FuncBuilder* b) {
  if (list.is_uniform && list.uniform && HasRoom(list)) {
    return b->BroadcastTo(list.uniform, BufferShape(list).dims());
  }
  if (list.buffer || list.has_buffer || !HasRoom(list)) return list.buffer;
  return b->Full(list.dtype, 0, BufferShape(list).dims());
}

Value LengthOf(const TensorList& list, FuncBuilder* b) {
  if (!list.length) return list.length_value;
  TensorInfo info;
  info.shape = Shape(DType::kS32, Dims());
  info.contents = Dims{*list.length};
  return Materialize(*b, info);
}

Value NextOf(const TensorList& list, FuncBuilder* b) {
  const NextPlace& next = list.array->next;
  if (next.known) {
    TensorInfo info;
    info.shape = Shape(DType::kS32, Dims());
    info.contents = Dims{*next.known};
    return Materialize(*b, info);
  }
  if (!next.base || next.offset == 0) return next.base;
  return b->Add(next.base, b->FullLike(next.base, static_cast<double>(next.offset)));
}

std::vector<Shape> CarriedShapes(const TensorInfo& facts) {
  std::vector<Shape> shapes;
  if (facts.list) {
    const TensorList& list = *facts.list;
    if (!list.length) shapes.push_back(Shape(DType::kS32, Dims()));
    if (list.written == Written::kMaybe) shapes.push_back(Shape(DType::kBool, Dims()));
    if (CarriesNext(list)) shapes.push_back(Shape(DType::kS32, Dims()));
    if (list.is_uniform) {
      if (!list.uniform_of) shapes.push_back(Shape(list.dtype, *list.element));
    } else if (list.has_buffer && HasRoom(list)) {
      shapes.push_back(BufferShape(list));
    }
  } else if (facts.unusable.empty() && !facts.contents && !facts.literal) {
    shapes.push_back(facts.shape);
    if (facts.is_complex) shapes.push_back(facts.shape);
  }
  return shapes;
}

std::vector<Value> CarriedValues(const TensorInfo& facts, const TensorInfo& info, FuncBuilder* b) {
  std::vector<Value> values;
  if (facts.list) {
    const TensorList& list = *info.list;
    if (!facts.list->length) values.push_back(LengthOf(list, b));
    if (facts.list->written == Written::kMaybe) {
      values.push_back(list.written == Written::kMaybe ? list.written_value
                                                       : Scalar(b, list.written == Written::kYes));
    }
    if (CarriesNext(*facts.list)) values.push_back(NextOf(list, b));
    if (facts.list->is_uniform) {
      if (!facts.list->uniform_of) values.push_back(list.uniform);
    } else if (facts.list->has_buffer && HasRoom(*facts.list)) {
      values.push_back(BufferLike(list, BufferShape(*facts.list), b));
    }
  } else if (!CarriedShapes(facts).empty()) {
    values.push_back(info.value ? info.value : Materialize(*b, info));
    if (facts.is_complex) values.push_back(info.imaginary);
  }
  // Sizes that are assumed to be equal are written as the facts have them.
  const std::vector<Shape> shapes = CarriedShapes(facts);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) values[i] = b->Reshape(values[i], shapes[i].dims());
  }
  return values;
}

TensorInfo WithValues(const TensorInfo& facts, absl::Span<const Value>* values) {
  TensorInfo info = facts;
  const auto next = [&] {
    const Value value = values->front();
    values->remove_prefix(1);
    return value;
  };
  if (info.list) {
    if (!info.list->length) info.list->length_value = next();
    if (info.list->written == Written::kMaybe) info.list->written_value = next();
    if (CarriesNext(*info.list)) info.list->array->next.base = next();
    if (info.list->is_uniform) {
      if (!info.list->uniform_of) info.list->uniform = next();
    } else if (info.list->has_buffer && HasRoom(*info.list)) {
      info.list->buffer = next();
    }
  } else if (!CarriedShapes(facts).empty()) {
    info.value = next();
    if (info.is_complex) info.imaginary = next();
  }
  return info;
}

}  // namespace tektite::importer
