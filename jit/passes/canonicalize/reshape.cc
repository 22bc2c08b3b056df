// Rules of reshape and broadcast_in_dim.
//
// The form aimed at: at most one reshape between two computations, and broadcasts whose operand has
// no dimension of size 1, so that equal broadcasts look equal.
#include <algorithm>

#include "jit/ir/symbols.h"
#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {

// reshape(%x: f32[4,5]), shape=[4,5]  ->  %x
// reshape(reshape(%x)), shape=[20]  ->  reshape(%x), shape=[20]
Value ReshapeOfReshape(Node* node, FuncBuilder& b) {
  Value x = node->operand(0);
  if (x.shape() == node->shape()) return x;
  Node* inner = Producer(x, Op::kReshape);
  return inner ? b.Reshape(inner->operand(0), node->shape().dims()) : Value();
}

// reshape(constant() f32[2]{1, 2}), shape=[1,2]  ->  constant() f32[1,2]{1, 2}
Value ReshapeOfConstant(Node* node, FuncBuilder& b) {
  const Literal* literal = ConstantOf(node->operand(0));
  if (!literal || !node->shape().is_static()) return {};
  return b.Constant(literal->Reshaped(node->shape().sizes()));
}

// constant() f32[3]{7, 7, 7}  ->  broadcast_in_dim(constant() f32[]{7}), dimensions=[], shape=[3]
Value SplatConstant(Node* node, FuncBuilder& b) {
  const Literal& literal = node->attrs().GetLiteral(Attr::value);
  if (literal.num_elements() < 2 || !literal.IsSplat()) return {};
  return SplatTo(b, Literal::CopyOf(literal.dtype(), {}, literal.raw()), node->shape().dims());
}

// reshape(broadcast_in_dim(%x), dimensions=[2], shape=[2,3,4]), shape=[6,4]
//   ->  broadcast_in_dim(%x), dimensions=[1], shape=[6,4]
// where every dimension of %x survives the reshape.
Value ReshapeOfBroadcast(Node* node, FuncBuilder& b) {
  Node* broadcast = Producer(node->operand(0), Op::kBroadcastInDim);
  if (!broadcast) return {};
  const Ints kept = KeptDimensions(broadcast->shape().dims(), node->shape().dims());
  Ints dimensions;
  for (int64_t d : broadcast->Ints(Attr::dimensions)) {
    auto it = std::find(kept.begin(), kept.end(), d);
    if (it == kept.end()) return {};
    dimensions.push_back(it - kept.begin());
  }
  return b.BroadcastInDim(broadcast->operand(0), node->shape().dims(), dimensions);
}

// broadcast_in_dim(%x: f32[3]), dimensions=[0], shape=[3]  ->  %x
// broadcast_in_dim(%x: f32[3]), dimensions=[1], shape=[1,3]  ->  reshape(%x), shape=[1,3]
Value BroadcastOfNothing(Node* node, FuncBuilder& b) {
  Value x = node->operand(0);
  if (x.shape() == node->shape()) return x;
  if (!IsDegenerateReshape(x.shape().dims(), node->shape().dims())) return {};
  return b.Reshape(x, node->shape().dims());
}

// broadcast_in_dim(broadcast_in_dim(%x), dimensions=[0]), dimensions=[1]
//   ->  broadcast_in_dim(%x), dimensions=[1]
Value BroadcastOfBroadcast(Node* node, FuncBuilder& b) {
  Node* inner = Producer(node->operand(0), Op::kBroadcastInDim);
  if (!inner) return {};
  Ints dimensions;
  for (int64_t d : inner->Ints(Attr::dimensions)) {
    dimensions.push_back(node->Ints(Attr::dimensions)[d]);
  }
  return b.BroadcastInDim(inner->operand(0), node->shape().dims(), dimensions);
}

// broadcast_in_dim(%x: f32[5,1]), dimensions=[0,1], shape=[5,7]
//   ->  broadcast_in_dim(reshape(%x), shape=[5]), dimensions=[0], shape=[5,7]
Value BroadcastOfUnitDimensions(Node* node, FuncBuilder& b) {
  Value x = node->operand(0);
  const Ints kept = NonUnitDims(x.shape().dims());
  if (static_cast<int>(kept.size()) == x.shape().rank()) return {};
  Ints dimensions;
  for (int64_t d : kept) dimensions.push_back(node->Ints(Attr::dimensions)[d]);
  return b.BroadcastInDim(b.Reshape(x, Select(x.shape().dims(), kept)), node->shape().dims(),
                          dimensions);
}

// iota(), dimension=1, shape=[4,1]  ->  broadcast_in_dim(0), shape=[4,1]
Value IotaOfUnitDimension(Node* node, FuncBuilder& b) {
  if (!IsOne(node->shape().dim(node->Int(Attr::dimension)))) return {};
  return ZeroLike(b, node->result());
}

// size_value(2, 3)  ->  constant s64[2]{2, 3}
Value StaticSizeValue(Node* node, FuncBuilder& b) {
  if (ir::HasSymbols(*node)) return {};
  const Dims& sizes = node->attrs().GetDims(Attr::sizes);
  Literal values = Literal::Allocate(ir::DType::kS64, {static_cast<int64_t>(sizes.size())});
  for (size_t i = 0; i < sizes.size(); ++i) values.mutable_data<int64_t>()[i] = sizes[i].value();
  return b.Constant(std::move(values));
}

}  // namespace tektite::passes::rules
