// Rules of slices, static and dynamic.
#include <algorithm>

#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {
namespace {

Ints Strides(const Node& slice) { return PerDimension(slice, Attr::strides, 1); }
int64_t Stride(const Node& slice, int d) { return Strides(slice)[d]; }

const Dims& Starts(const Node& slice) { return slice.attrs().GetDims(Attr::starts); }
const Dims& Limits(const Node& slice) { return slice.attrs().GetDims(Attr::limits); }

}  // namespace

// slice(%x: f32[4]), starts=[0], limits=[4], strides=[1]  ->  %x
Value SliceOfEverything(Node* node, FuncBuilder& b) {
  const Shape& shape = node->operand_shape(0);
  for (int d = 0; d < shape.rank(); ++d) {
    if (!IsZero(Starts(*node)[d]) || Limits(*node)[d] != shape.dim(d) || Stride(*node, d) != 1) {
      return {};
    }
  }
  return node->operand(0);
}

// slice(slice(%x), starts=[2], limits=[8], strides=[1]), starts=[1], limits=[3], strides=[1]
//   ->  slice(%x), starts=[3], limits=[5], strides=[1]
Value SliceOfSlice(Node* node, FuncBuilder& b) {
  Node* inner = Producer(node->operand(0), Op::kSlice);
  if (!inner) return {};
  Dims starts, limits;
  Ints strides;
  for (int d = 0; d < node->shape().rank(); ++d) {
    const int64_t step = Stride(*inner, d);
    const Dim &start = Starts(*node)[d], &limit = Limits(*node)[d];
    // The last element taken decides the limit, and an empty slice has none.
    if (step != 1 && !AtMost(start + 1, limit)) return {};
    starts.push_back(Starts(*inner)[d] + start * step);
    limits.push_back(Starts(*inner)[d] + (limit - 1) * step + 1);
    strides.push_back(step * Stride(*node, d));
  }
  return b.Slice(inner->operand(0), starts, limits, strides);
}

// slice(concatenate(%x: f32[3], %y: f32[5])), starts=[4], limits=[6]
//   ->  slice(%y), starts=[1], limits=[3]
// where one operand holds all that is taken.
Value SliceOfConcatenate(Node* node, FuncBuilder& b) {
  Node* concatenate = Producer(node->operand(0), Op::kConcatenate);
  if (!concatenate) return {};
  const int64_t d = concatenate->Int(Attr::dimension);
  Dim begin = 0;
  for (Value piece : concatenate->operands()) {
    const Dim end = begin + piece.shape().dim(d);
    if (AtMost(begin, Starts(*node)[d]) && AtMost(Limits(*node)[d], end)) {
      Dims starts = Starts(*node), limits = Limits(*node);
      starts[d] = starts[d] - begin;
      limits[d] = limits[d] - begin;
      return b.Slice(piece, starts, limits, Strides(*node));
    }
    begin = end;
  }
  return {};
}

// slice(broadcast_in_dim(%x), dimensions=[0]), starts=[1,0], limits=[3,2]
//   ->  broadcast_in_dim(slice(%x), starts=[1], limits=[3]), dimensions=[0]
Value SliceOfBroadcast(Node* node, FuncBuilder& b) {
  Node* broadcast = Producer(node->operand(0), Op::kBroadcastInDim);
  if (!broadcast) return {};
  Value x = broadcast->operand(0);
  Dims starts, limits;
  Ints strides;
  const Ints& dimensions = broadcast->Ints(Attr::dimensions);
  for (int i = 0; i < x.shape().rank(); ++i) {
    // A dimension of size 1 that is stretched has one element to take; other rules remove it.
    if (IsOne(x.shape().dim(i))) return {};
    starts.push_back(Starts(*node)[dimensions[i]]);
    limits.push_back(Limits(*node)[dimensions[i]]);
    strides.push_back(Stride(*node, dimensions[i]));
  }
  if (x.shape().rank() > 0) x = b.Slice(x, starts, limits, strides);
  return b.BroadcastInDim(x, node->shape().dims(), dimensions);
}

// slice(reshape(%x: f32[2,1,3]): f32[2,3]), starts=[0,1], limits=[2,2]
//   ->  reshape(slice(%x), starts=[0,0,1], limits=[2,1,2])
// where %x is a parameter or a slice, and the reshape adds or drops dimensions of size 1 alone.
Value SliceOfReshape(Node* node, FuncBuilder& b) {
  Node* reshape = Producer(node->operand(0), Op::kReshape);
  if (!reshape) return {};
  const Value x = reshape->operand(0);
  if (x.node->op() != Op::kParameter && x.node->op() != Op::kSlice) return {};
  const Dims &from = x.shape().dims(), &to = reshape->shape().dims();
  if (!IsDegenerateReshape(from, to)) return {};
  for (int d = 0; d < reshape->shape().rank(); ++d) {
    if (IsOne(to[d]) && !IsOne(node->shape().dim(d))) return {};
  }
  Dims starts(from.size(), Dim(0)), limits(from.size(), Dim(1));
  Ints strides(from.size(), 1);
  const Ints before = NonUnitDims(from), after = NonUnitDims(to);
  for (size_t i = 0; i < before.size(); ++i) {
    starts[before[i]] = Starts(*node)[after[i]];
    limits[before[i]] = Limits(*node)[after[i]];
    strides[before[i]] = Stride(*node, static_cast<int>(after[i]));
  }
  return b.Reshape(b.Slice(x, starts, limits, strides), node->shape().dims());
}

// dynamic_slice(%x: f32[10], 8), sizes=[4]  ->  slice(%x), starts=[6], limits=[10]
// A start is clamped so that the slice fits.  A dimension taken whole has start 0 whatever it says.
Value DynamicSliceOfConstantStart(Node* node, FuncBuilder& b) {
  const Shape& shape = node->operand_shape(0);
  Dims starts, limits;
  for (int d = 0; d < shape.rank(); ++d) {
    const Dim &size = node->shape().dim(d), &whole = shape.dim(d);
    Dim start = 0;
    if (size != whole) {
      std::optional<Literal> constant = SplatOf(node->operand(1 + d));
      if (!constant || !size.is_constant() || !whole.is_constant()) return {};
      start = std::clamp<int64_t>(constant->AsInt(0), 0, whole.value() - size.value());
    }
    starts.push_back(start);
    limits.push_back(start + size);
  }
  return b.Slice(node->operand(0), starts, limits, Ints(shape.rank(), 1));
}

// add(%acc: f32[8], dynamic_update_slice(0, %y: f32[2], %i))
//   ->  dynamic_update_slice(%acc, add(dynamic_slice(%acc, %i), %y), %i)
// for the parameter %acc of a loop: where a turn reads an element of a list, its gradient is such a
// sum, and a loop of n turns would add n^2 elements.  A -0 in %acc may stay.
Value AddOfUpdatedZeros(Node* node, FuncBuilder& b) {
  for (int i = 0; i < 2; ++i) {
    Value sum = node->operand(i);
    Node* const placed = OnlyProducer(node->operand(1 - i), Op::kDynamicUpdateSlice);
    if (sum.node->op() != Op::kParameter || placed == nullptr) continue;
    if (!IsSplatZero(placed->operand(0), /*negative=*/false)) continue;
    Value update = placed->operand(1);
    std::vector<Value> starts;
    for (int d = 0; d < node->shape().rank(); ++d) starts.push_back(placed->operand(2 + d));
    Value there = b.DynamicSlice(sum, starts, update.shape().dims());
    return b.DynamicUpdateSlice(sum, b.Add(there, update), starts);
  }
  return {};
}

// dynamic_update_slice(%x: f32[4], %y: f32[4], %i)  ->  %y        all of %x is replaced
// dynamic_update_slice(%x: f32[4], %y: f32[0], %i)  ->  %x        nothing is
Value DynamicUpdateOfAllOrNothing(Node* node, FuncBuilder& b) {
  Value x = node->operand(0), update = node->operand(1);
  if (x.shape() == update.shape()) return update;
  const Dims& dims = update.shape().dims();
  return std::any_of(dims.begin(), dims.end(), IsZero) ? x : Value();
}

}  // namespace tektite::passes::rules
