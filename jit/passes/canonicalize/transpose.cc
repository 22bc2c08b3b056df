// Rules of transpose and reverse.
#include <algorithm>

#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {
namespace {

bool IsIdentity(const Ints& permutation) {
  return std::is_sorted(permutation.begin(), permutation.end());
}

Ints Compose(const Ints& inner, const Ints& outer) {
  Ints composed;
  for (int64_t d : outer) composed.push_back(inner[d]);
  return composed;
}

bool IsTransposeOf(Value value, const Ints& outer) {
  Node* inner = Producer(value, Op::kTranspose);
  return inner && IsIdentity(Compose(inner->Ints(Attr::permutation), outer));
}

}  // namespace

// transpose(%x), permutation=[0,1]  ->  %x
// transpose(transpose(%x), permutation=[1,2,0]), permutation=[1,2,0]
//   ->  transpose(%x), permutation=[2,0,1]
Value TransposeOfTranspose(Node* node, FuncBuilder& b) {
  const Ints& permutation = node->Ints(Attr::permutation);
  if (IsIdentity(permutation)) return node->operand(0);
  Node* inner = Producer(node->operand(0), Op::kTranspose);
  if (!inner) return {};
  return b.Transpose(inner->operand(0), Compose(inner->Ints(Attr::permutation), permutation));
}

// transpose(%x: f32[3,1,4]), permutation=[1,0,2]  ->  reshape(%x), shape=[1,3,4]
Value TransposeOfUnitDimensions(Node* node, FuncBuilder& b) {
  Ints moved;
  for (int64_t d : node->Ints(Attr::permutation)) {
    if (!IsOne(node->operand_shape(0).dim(d))) moved.push_back(d);
  }
  return IsIdentity(moved) ? b.Reshape(node->operand(0), node->shape().dims()) : Value();
}

// transpose(broadcast_in_dim(%x), dimensions=[1]), permutation=[1,0]
//   ->  broadcast_in_dim(%x), dimensions=[0]
// with %x transposed first if its dimensions change their order: there is less of it.
Value TransposeOfBroadcast(Node* node, FuncBuilder& b) {
  Node* broadcast = Producer(node->operand(0), Op::kBroadcastInDim);
  if (!broadcast) return {};
  const Ints& permutation = node->Ints(Attr::permutation);
  const Ints& old_dimensions = broadcast->Ints(Attr::dimensions);
  Ints dimensions, order;
  for (size_t i = 0; i < permutation.size(); ++i) {
    auto it = std::find(old_dimensions.begin(), old_dimensions.end(), permutation[i]);
    if (it == old_dimensions.end()) continue;
    dimensions.push_back(i);
    order.push_back(it - old_dimensions.begin());
  }
  Value x = broadcast->operand(0);
  if (!IsIdentity(order)) x = b.Transpose(x, order);
  return b.BroadcastInDim(x, node->shape().dims(), dimensions);
}

// transpose(add(transpose(%x), transpose(%y)))  ->  add(%x, %y)
// where the two transposes undo each other for at least one operand, and no more transposes are
// left than there were.
Value TransposesCancel(Node* node, FuncBuilder& b) {
  Node* inner = node->operand(0).node;
  const Ints& permutation = node->Ints(Attr::permutation);
  if (!ir::IsElementwise(inner->op()) || !inner->HasOneUse()) return {};
  int cancelled = 0, added = 0;
  for (Value operand : inner->operands()) {
    if (IsTransposeOf(operand, permutation)) {
      ++cancelled;
    } else if (!SplatOf(operand) && !Producer(operand, Op::kTranspose) &&
               !Producer(operand, Op::kBroadcastInDim)) {
      ++added;
    }
  }
  if (cancelled == 0 || added > cancelled) return {};
  std::vector<Value> operands;
  for (Value operand : inner->operands()) operands.push_back(b.Transpose(operand, permutation));
  return b.AddOne(inner->op(), operands, inner->attrs());
}

// reverse(%x: f32[3,1]), dimensions=[1]  ->  %x
// reverse(reverse(%x)), both dimensions=[0]  ->  %x
Value ReverseOfNothing(Node* node, FuncBuilder& b) {
  Ints dimensions;
  for (int64_t d : node->Ints(Attr::dimensions)) {
    if (!IsOne(node->shape().dim(d))) dimensions.push_back(d);
  }
  if (dimensions.empty()) return node->operand(0);
  Node* inner = Producer(node->operand(0), Op::kReverse);
  if (inner && inner->Ints(Attr::dimensions) == node->Ints(Attr::dimensions)) {
    return inner->operand(0);
  }
  return dimensions == node->Ints(Attr::dimensions) ? Value()
                                                    : b.Reverse(node->operand(0), dimensions);
}

}  // namespace tektite::passes::rules
