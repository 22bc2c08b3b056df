#include "clustering/importer/movement/strided_slice.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "clustering/importer/movement/positions.h"
#include "jit/ir/symbols.h"

namespace tektite::importer {
namespace {

// TensorFlow spells "to the end" as the largest integer of the index type, too.  Other indices,
// also those that 32 bits do not hold, are places.
bool IsFar(const Dim& index) {
  return index.is_constant() && (index.value() == std::numeric_limits<int32_t>::max() ||
                                 index.value() == std::numeric_limits<int64_t>::max());
}

bool Bit(int64_t mask, size_t i) { return i < 63 && ((mask >> i) & 1) != 0; }

// An index of a dimension of size n, moved into [low, n + low]; low is 0, or -1 for slices that go
// backwards.
Dim ClampIndex(const Dim& index, const Dim& n, int64_t low) {
  if (index == n && low == 0) return n;
  if (index.is_constant() && n.is_constant()) {
    int64_t i = index.value() < 0 ? index.value() + n.value() : index.value();
    return ir::Min(ir::Max(Dim(i), Dim(low)), n + Dim(low));
  }
  if (index.is_constant() && index.value() < 0) return ir::Max(index + n, Dim(low));
  if (index == Dim(0) && low == 0) return Dim(0);
  if (IsFar(index)) return n + Dim(low);
  return ir::Min(index, n + Dim(low));
}

struct Range {
  Dim begin, size;
};

Range ResolveRange(const Dim& n, const Dim* begin, const Dim* end, int64_t stride) {
  int64_t low = stride > 0 ? 0 : -1;
  Dim first = begin ? ClampIndex(*begin, n, low) : (stride > 0 ? Dim(0) : n - Dim(1));
  Dim last = end ? ClampIndex(*end, n, low) : (stride > 0 ? n : Dim(-1));
  if (first == Dim(0) && stride == 1) return {first, last};
  Dim span = stride > 0 ? last - first : first - last;
  return {first, ir::CeilDiv(ir::Max(span, Dim(0)), Dim(stride > 0 ? stride : -stride))};
}

// What code decides about an index of a dimension of `n` elements that is data.
class DataRange {
 public:
  DataRange(NodeImport& op, const Dim& n, int64_t stride)
      : op_(op), b_(op.b()), n_(op.DimValue(n, DType::kS64)), stride_(stride) {}

  Value Number(int64_t value) { return b_.Scalar(DType::kS64, static_cast<double>(value)); }

  // Below zero it counts from the end.
  Value Wrapped(Value index) {
    return b_.Select(b_.Compare(index, Number(0), "lt"), b_.Add(index, n_), index);
  }
  Value Inside(Value index) {
    return b_.Binary(Op::kAnd, b_.Compare(index, Number(0), "ge"), b_.Compare(index, n_, "lt"));
  }
  // As ClampIndex does.
  Value Clamped(Value index) {
    const int64_t low = stride_ > 0 ? 0 : -1;
    return b_.Clamp(Number(low), Wrapped(index), b_.Add(n_, Number(low)));
  }
  Value First() { return stride_ > 0 ? Number(0) : b_.Sub(n_, Number(1)); }
  Value Last() { return stride_ > 0 ? n_ : Number(-1); }

  // How many indices there are from `first` to before `last`.
  Value Count(Value first, Value last) {
    const Value span = b_.Max(stride_ > 0 ? b_.Sub(last, first) : b_.Sub(first, last), Number(0));
    const int64_t step = stride_ > 0 ? stride_ : -stride_;
    if (step == 1) return span;
    return b_.Binary(Op::kDiv, b_.Add(span, Number(step - 1)), Number(step));
  }

 private:
  NodeImport& op_;
  FuncBuilder& b_;
  const Value n_;
  const int64_t stride_;
};

// Walks the specification's entries and the tensor's dimensions side by side.
class Resolver {
 public:
  Resolver(NodeImport& op, const Dims& dims, int first, const Dims* given,
           std::vector<int64_t> strides)
      : op_(op), dims_(dims), input_(first), given_(given), strides_(std::move(strides)) {}

  absl::StatusOr<StridedSliceSpec> Resolve() {
    const Dim entries(static_cast<int64_t>(strides_.size()));
    if (op_.InputDims(input_) != Dims{entries} || op_.InputDims(input_ + 1) != Dims{entries}) {
      return op_.Refuse("begin, end and strides differ in length");
    }
    size_t indexed = 0;  // entries that stand for a dimension
    for (size_t i = 0; i < strides_.size(); ++i) indexed += !Ellipsis(i) && !NewAxis(i);
    if (indexed > dims_.size()) {
      return op_.Refuse(indexed, " indices for a tensor of rank ", dims_.size());
    }
    bool ellipsis_seen = false;
    for (size_t i = 0; i < strides_.size(); ++i) {
      if (Ellipsis(i)) {
        if (ellipsis_seen) return op_.Refuse("two ellipses");
        ellipsis_seen = true;
        for (size_t k = indexed; k < dims_.size(); ++k) TakeAll();
      } else if (NewAxis(i)) {
        spec_.result_dims.push_back(Dim(1));
      } else {
        TEKTITE_RETURN_IF_ERROR(TakeEntry(i));
      }
    }
    while (spec_.sizes.size() < dims_.size()) TakeAll();
    return spec_;
  }

 private:
  bool Ellipsis(size_t i) const { return Bit(op_.attrs().Int("ellipsis_mask", 0), i); }
  bool NewAxis(size_t i) const {
    return !Ellipsis(i) && Bit(op_.attrs().Int("new_axis_mask", 0), i);
  }

  void Take(const Place& begin, const Dim& size, int64_t stride) {
    spec_.begins.push_back(begin);
    spec_.sizes.push_back(size);
    spec_.strides.push_back(stride);
  }
  void TakeAll() {
    const Dim& n = dims_[spec_.sizes.size()];
    Take({Dim(0), Value()}, n, 1);
    spec_.result_dims.push_back(n);
  }

  absl::Status TakeEntry(size_t i) {
    const Dim& n = dims_[spec_.sizes.size()];
    if (strides_[i] == 0) return op_.Refuse("strides[", i, "] must not be zero");
    const int64_t element = static_cast<int64_t>(i);
    TEKTITE_ASSIGN_OR_RETURN(const Position begin, PositionOf(op_, input_, element));
    if (Bit(op_.attrs().Int("shrink_axis_mask", 0), i)) {
      if (strides_[i] < 0) return op_.Refuse("one element backwards");  // TensorFlow's error
      return begin.known ? TakeOne(*begin.known, n) : TakeOneAtData(begin, n);
    }
    const bool begins = !Bit(op_.attrs().Int("begin_mask", 0), i);
    const bool ends = !Bit(op_.attrs().Int("end_mask", 0), i);
    TEKTITE_ASSIGN_OR_RETURN(const Position end, PositionOf(op_, input_ + 1, element));
    if ((begins && !begin.known) || (ends && !end.known)) {
      return TakeAtData(element, begins ? &begin : nullptr, ends ? &end : nullptr, n);
    }
    const Dim* first = begins ? &*begin.known : nullptr;
    const Dim* last = ends ? &*end.known : nullptr;
    for (const Dim* index : {first, last}) {
      if (index != nullptr && !index->is_constant() && *index != n) FromTheFront(*index);
    }
    Range range = ResolveRange(n, first, last, strides_[i]);
    Take({range.begin, Value()}, range.size, strides_[i]);
    spec_.result_dims.push_back(range.size);
    return absl::OkStatus();
  }

  // Below zero it would count from the end.
  void FromTheFront(const Dim& index) { op_.b().AssumeAtMost(Dim(0), index); }

  absl::Status TakeOne(const Dim& index, const Dim& n) {
    Dim begin = index.is_constant() && index.value() < 0 ? index + n : index;
    bool known = begin.is_constant() && n.is_constant();
    if (known && (begin.value() < 0 || begin.value() >= n.value())) {
      return op_.Refuse("index ", index.ToString(), " is out of bounds for size ", n.ToString());
    }
    // Said here: a slice that nothing reads is dropped, and what is assumed of its bounds with it.
    FromTheFront(begin);
    op_.b().AssumeAtMost(begin + Dim(1), n);
    Take({begin, Value()}, Dim(1), 1);
    return absl::OkStatus();
  }

  absl::Status TakeOneAtData(const Position& index, const Dim& n) {
    Value place = index.value;
    const std::optional<ValueRange>& range = index.range;
    if (!range || !ir::NeverLess(range->first, Dim(0)) || !ir::NeverLess(n, range->behind)) {
      DataRange data(op_, n, 1);
      place = data.Wrapped(place);
      op_.Check(data.Inside(place));
    }
    op_.b().AssumeAtMost(Dim(1), n);
    Take({Dim(), place}, Dim(1), 1);
    return absl::OkStatus();
  }

  // A null index is the dimension's own end.
  absl::Status TakeAtData(int64_t element, const Position* begin, const Position* end,
                          const Dim& n) {
    const int64_t stride = strides_[element], step = stride > 0 ? stride : -stride;
    std::optional<Dim> span;
    if (begin != nullptr && end != nullptr) {
      span = KnownSum(op_, {{input_ + 1, element, stride > 0 ? 1 : -1},
                            {input_, element, stride > 0 ? -1 : 1}});
    }
    Dim size;
    if (span) {
      size = ir::CeilDiv(ir::Max(*span, Dim(0)), Dim(step));
    } else if (given_ != nullptr && spec_.result_dims.size() < given_->size()) {
      size = (*given_)[spec_.result_dims.size()];
    } else {
      return op_.Refuse("data decides how much of dimension ", spec_.sizes.size(), " is taken");
    }
    const Dim reach = (size - Dim(1)) * Dim(step) + Dim(1);
    if (ir::NeverLess(reach - Dim(1), n)) return op_.Refuse("a slice beyond its tensor");
    Value first;
    if (span && IsInside(*begin, *span, size, stride, n)) {
      first = begin->value;
    } else {
      DataRange data(op_, n, stride);
      first = begin == nullptr ? data.First() : data.Clamped(ValueOf(op_, *begin));
      const Value last = end == nullptr ? data.Last() : data.Clamped(ValueOf(op_, *end));
      op_.Check(op_.b().Compare(data.Count(first, last), op_.DimValue(size, DType::kS64), "eq"));
    }
    Take({Dim(), first}, size, stride);
    spec_.result_dims.push_back(size);
    return absl::OkStatus();
  }

  // Whether all that is taken is known to lie inside, and neither index to be below zero.
  static bool IsInside(const Position& begin, const Dim& span, const Dim& size, int64_t stride,
                       const Dim& n) {
    if (!begin.range) return false;
    const Dim &least = begin.range->first, behind = begin.range->behind;
    const Dim reach = (size - Dim(1)) * Dim(stride);  // from the first to the last one
    if (stride > 0) {
      return ir::NeverLess(least, Dim(0)) && ir::NeverLess(span, Dim(1)) &&
             ir::NeverLess(n, behind + reach);
    }
    return ir::NeverLess(least - span, Dim(0)) && ir::NeverLess(span, Dim(1)) &&
           ir::NeverLess(n, behind);
  }

  NodeImport& op_;
  const Dims& dims_;
  const int input_;  // begin; end is the next one
  const Dims* const given_;
  const std::vector<int64_t> strides_;
  StridedSliceSpec spec_;
};

}  // namespace

absl::StatusOr<StridedSliceSpec> ResolveStridedSlice(NodeImport& op, const Dims& dims, int first,
                                                     const Dims* given) {
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> strides, op.RequireInts(first + 2));
  return Resolver(op, dims, first, given, std::move(strides)).Resolve();
}

bool HasData(const StridedSliceSpec& spec) {
  return std::any_of(spec.begins.begin(), spec.begins.end(),
                     [](const Place& place) { return bool{place.data}; });
}

}  // namespace tektite::importer
