#include "clustering/importer/strided_slice.h"

#include <limits>

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

// Walks the specification's entries and the tensor's dimensions side by side.
class Resolver {
 public:
  Resolver(NodeImport& op, const Dims& dims, Dims begin, Dims end, std::vector<int64_t> strides)
      : op_(op), dims_(dims), begin_(begin), end_(end), strides_(strides) {}

  absl::StatusOr<StridedSliceSpec> Resolve() {
    if (begin_.size() != strides_.size() || end_.size() != strides_.size()) {
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

  void Take(const Dim& begin, const Dim& size, int64_t stride) {
    spec_.begins.push_back(begin);
    spec_.sizes.push_back(size);
    spec_.strides.push_back(stride);
  }
  void TakeAll() {
    const Dim& n = dims_[spec_.sizes.size()];
    Take(Dim(0), n, 1);
    spec_.result_dims.push_back(n);
  }

  absl::Status TakeEntry(size_t i) {
    const Dim& n = dims_[spec_.sizes.size()];
    if (strides_[i] == 0) return op_.Refuse("strides[", i, "] must not be zero");
    if (Bit(op_.attrs().Int("shrink_axis_mask", 0), i)) {
      if (strides_[i] < 0) return op_.Refuse("one element backwards");  // TensorFlow's error
      return TakeOne(begin_[i], n);
    }
    const Dim* begin = Bit(op_.attrs().Int("begin_mask", 0), i) ? nullptr : &begin_[i];
    const Dim* end = Bit(op_.attrs().Int("end_mask", 0), i) ? nullptr : &end_[i];
    for (const Dim* index : {begin, end}) {
      if (index != nullptr && !index->is_constant() && *index != n) FromTheFront(*index);
    }
    Range range = ResolveRange(n, begin, end, strides_[i]);
    Take(range.begin, range.size, strides_[i]);
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
    Take(begin, Dim(1), 1);
    return absl::OkStatus();
  }

  NodeImport& op_;
  const Dims& dims_;
  Dims begin_, end_;
  std::vector<int64_t> strides_;
  StridedSliceSpec spec_;
};

}  // namespace

absl::StatusOr<StridedSliceSpec> ResolveStridedSlice(NodeImport& op, const Dims& dims, int first) {
  TEKTITE_ASSIGN_OR_RETURN(Dims begin, op.RequireContents(first));
  TEKTITE_ASSIGN_OR_RETURN(Dims end, op.RequireContents(first + 1));
  TEKTITE_ASSIGN_OR_RETURN(std::vector<int64_t> strides, op.RequireInts(first + 2));
  return Resolver(op, dims, begin, end, strides).Resolve();
}

}  // namespace tektite::importer
