// Rules of reduce, cumulative and sort.
//
// Those that merge or reorder additions of floats change the order of rounding, which the numeric
// contract leaves free for sums.
#include <algorithm>

#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {
namespace {

// One operand and a named reducer: other reductions keep their form.
bool IsPlain(const Node* node) {
  return node && node->num_operands() == 1 && node->num_regions() == 0;
}

bool IsIdempotent(absl::string_view reducer) { return reducer != "add" && reducer != "mul"; }

}  // namespace

// reduce(%x: f32[4,1,5]), dimensions=[1]  ->  reshape(%x), shape=[4,5]
// reduce(%x: f32[4,1,5]), dimensions=[1,2]  ->  reshape(reduce(%x), dimensions=[2]), shape=[4]
Value ReduceOfUnitDimensions(Node* node, FuncBuilder& b) {
  if (!IsPlain(node)) return {};
  Ints rest;
  for (int64_t d : node->Ints(Attr::dimensions)) {
    if (!IsOne(node->operand_shape(0).dim(d))) rest.push_back(d);
  }
  if (rest == node->Ints(Attr::dimensions) && !rest.empty()) return {};
  return b.Reshape(b.Reduce(node->operand(0), rest, node->String(Attr::reducer)),
                   node->shape().dims());
}

// reduce(reduce(%x: f32[3,4,5]), dimensions=[2]), dimensions=[0]
//   ->  reduce(%x), dimensions=[0,2]        same reducer
Value ReduceOfReduce(Node* node, FuncBuilder& b) {
  Node* inner = OnlyProducer(node->operand(0), Op::kReduce);
  if (!IsPlain(node) || !IsPlain(inner) ||
      inner->String(Attr::reducer) != node->String(Attr::reducer)) {
    return {};
  }
  const Ints kept = Complement(inner->operand_shape(0).rank(), inner->Ints(Attr::dimensions));
  Ints dimensions = inner->Ints(Attr::dimensions);
  for (int64_t d : node->Ints(Attr::dimensions)) dimensions.push_back(kept[d]);
  std::sort(dimensions.begin(), dimensions.end());
  return b.Reduce(inner->operand(0), dimensions, node->String(Attr::reducer));
}

// reduce(transpose(%x: f32[3,4,5]), permutation=[0,2,1]), dimensions=[1]
//   ->  reduce(%x), dimensions=[2]        the rest keeps its order
Value ReduceOfTranspose(Node* node, FuncBuilder& b) {
  Node* transpose = Producer(node->operand(0), Op::kTranspose);
  if (!IsPlain(node) || !transpose) return {};
  const Ints& permutation = transpose->Ints(Attr::permutation);
  Ints dimensions, rest;
  for (size_t i = 0; i < permutation.size(); ++i) {
    (Contains(node->Ints(Attr::dimensions), i) ? dimensions : rest).push_back(permutation[i]);
  }
  if (!std::is_sorted(rest.begin(), rest.end())) return {};
  std::sort(dimensions.begin(), dimensions.end());
  return b.Reduce(transpose->operand(0), dimensions, node->String(Attr::reducer));
}

// reduce(reshape(%x: f32[6,4]), shape=[2,3,4]), dimensions=[2]
//   ->  reshape(reduce(%x), dimensions=[1]), shape=[2,3]
// where the reshape keeps every reduced dimension, or all dimensions are reduced.
Value ReduceOfReshape(Node* node, FuncBuilder& b) {
  Node* reshape = Producer(node->operand(0), Op::kReshape);
  if (!IsPlain(node) || !reshape) return {};
  Value x = reshape->operand(0);
  const Ints& old_dimensions = node->Ints(Attr::dimensions);
  if (node->shape().rank() == 0) {
    return b.Reduce(x, Range(x.shape().rank()), node->String(Attr::reducer));
  }
  const Ints kept = KeptDimensions(x.shape().dims(), reshape->shape().dims());
  Ints dimensions;
  for (int64_t d : old_dimensions) {
    if (kept[d] < 0) return {};
    dimensions.push_back(kept[d]);
  }
  if (dimensions.empty()) return {};
  return b.Reshape(b.Reduce(x, dimensions, node->String(Attr::reducer)), node->shape().dims());
}

// reduce(broadcast_in_dim(%x: f32[4]), dimensions=[0], shape=[4,7]), dimensions=[1], reducer=max
//   ->  %x        max, min, and, or: n equal values are as one, if there is one
Value ReduceOfBroadcast(Node* node, FuncBuilder& b) {
  Node* broadcast = Producer(node->operand(0), Op::kBroadcastInDim);
  if (!IsPlain(node) || !broadcast || !IsIdempotent(node->String(Attr::reducer))) return {};
  const Ints& from = broadcast->Ints(Attr::dimensions);
  Ints copies;
  for (int64_t d : node->Ints(Attr::dimensions)) {
    const Dim& size = broadcast->shape().dim(d);
    if (!Contains(from, d) && size.is_constant() && size.value() > 0) copies.push_back(d);
  }
  if (copies.empty()) return {};
  Ints dimensions, still;
  for (int64_t d : from) dimensions.push_back(IndexAfterRemoving(d, copies));
  for (int64_t d : node->Ints(Attr::dimensions)) {
    if (!Contains(copies, d)) still.push_back(IndexAfterRemoving(d, copies));
  }
  const Shape& shape = broadcast->shape();
  Value x = b.BroadcastInDim(broadcast->operand(0),
                             Select(shape.dims(), Complement(shape.rank(), copies)), dimensions);
  return b.Reduce(x, still, node->String(Attr::reducer));
}

// cumulative(%x: f32[4,1]), dimension=1, exclusive=false  ->  %x
Value CumulativeOfUnitDimension(Node* node, FuncBuilder& b) {
  const bool alone = IsOne(node->shape().dim(node->Int(Attr::dimension)));
  return alone && !node->Bool(Attr::exclusive) ? node->operand(0) : Value();
}

// sort(%x: f32[4,1]), dimension=1  ->  %x        one operand
Value SortOfUnitDimension(Node* node, FuncBuilder& b) {
  const bool alone = IsOne(node->shape().dim(node->Int(Attr::dimension)));
  return alone && node->num_operands() == 1 ? node->operand(0) : Value();
}

}  // namespace tektite::passes::rules
