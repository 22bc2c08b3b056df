// Rules that move broadcasts, reshapes and transposes below elementwise ops, so that work is done
// on the small side of a broadcast, and reshapes and transposes meet and cancel.
#include <algorithm>

#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {
namespace {

bool HasEqualDims(const Node& node) {
  for (Value operand : node.operands()) {
    if (operand.shape().dims() != node.shape().dims()) return false;
  }
  return true;
}

// A broadcast of a scalar, or a constant that is one value throughout.
bool IsScalarEverywhere(Value value) {
  Node* broadcast = Producer(value, Op::kBroadcastInDim);
  return (broadcast && broadcast->operand_shape(0).rank() == 0) || SplatOf(value);
}

Value ScalarEverywhere(FuncBuilder& b, Value value, const Dims& dims) {
  if (std::optional<Literal> splat = SplatOf(value)) return SplatTo(b, *splat, dims);
  Value scalar = value.node->operand(0);
  return dims.empty() ? scalar : b.BroadcastInDim(scalar, dims, {});
}

// For a broadcast into dimensions that contain those of `value`, a broadcast too: where value's
// dimensions stand among `dimensions`.  False if they do not.
bool DimensionsWithin(const Node& broadcast, const Ints& dimensions, Ints* within) {
  within->clear();
  for (int64_t d : broadcast.Ints(Attr::dimensions)) {
    auto it = std::find(dimensions.begin(), dimensions.end(), d);
    if (it == dimensions.end()) return false;
    within->push_back(it - dimensions.begin());
  }
  return true;
}

// The form of `value` before a reshape from `dims`, or null: a reshape from there, a scalar
// everywhere, a broadcast into dimensions that the reshape keeps, a constant.
enum class Before { kUnknown, kReshape, kScalar, kBroadcast, kConstant };

Before FindBefore(Value value, const Dims& dims, const Ints& kept) {
  if (Node* reshape = Producer(value, Op::kReshape)) {
    if (reshape->operand_shape(0).dims() == dims) return Before::kReshape;
  }
  if (IsScalarEverywhere(value)) return Before::kScalar;
  if (ConstantOf(value)) return Before::kConstant;
  Node* broadcast = Producer(value, Op::kBroadcastInDim);
  if (!broadcast) return Before::kUnknown;
  for (int64_t d : broadcast->Ints(Attr::dimensions)) {
    if (kept[d] < 0) return Before::kUnknown;
  }
  return Before::kBroadcast;
}

}  // namespace

// add(broadcast_in_dim(%a: f32[4]), broadcast_in_dim(%b: f32[4]))
//   ->  broadcast_in_dim(add(%a, %b))
// Also where one operand's dimensions are among the other's, and with scalars everywhere.
Value ElementwiseOfBroadcasts(Node* node, FuncBuilder& b) {
  if (node->num_operands() == 0 || node->shape().rank() == 0 || !HasEqualDims(*node)) return {};
  const Node* widest = nullptr;
  for (Value operand : node->operands()) {
    Node* broadcast = Producer(operand, Op::kBroadcastInDim);
    if (!broadcast && !IsScalarEverywhere(operand)) return {};
    if (broadcast &&
        (!widest || broadcast->operand_shape(0).rank() > widest->operand_shape(0).rank())) {
      widest = broadcast;
    }
  }
  const Ints dimensions = widest ? widest->Ints(Attr::dimensions) : Ints();
  const Dims dims = widest ? widest->operand_shape(0).dims() : Dims();
  Ints within;
  for (Value operand : node->operands()) {
    if (IsScalarEverywhere(operand)) continue;
    if (!DimensionsWithin(*operand.node, dimensions, &within)) return {};
    // Sizes differ only where a dimension of size 1 is stretched; other rules remove that first.
    if (Select(dims, within) != operand.node->operand_shape(0).dims()) return {};
  }
  std::vector<Value> operands;
  for (Value operand : node->operands()) {
    if (IsScalarEverywhere(operand)) {
      operands.push_back(ScalarEverywhere(b, operand, dims));
    } else {
      DimensionsWithin(*operand.node, dimensions, &within);
      Value x = operand.node->operand(0);
      operands.push_back(x.shape().dims() == dims ? x : b.BroadcastInDim(x, dims, within));
    }
  }
  Value small = b.AddOne(node->op(), operands, node->attrs());
  return small ? b.BroadcastInDim(small, node->shape().dims(), dimensions) : Value();
}

// add(reshape(%a: f32[6,4]), broadcast_in_dim(%b: f32[4])), both f32[2,3,4]
//   ->  reshape(add(%a, broadcast_in_dim(%b))), shape=[2,3,4]
// where every operand can be had in the shape before the reshape without moving data.
Value ElementwiseOfReshapes(Node* node, FuncBuilder& b) {
  if (node->num_operands() == 0 || !HasEqualDims(*node)) return {};
  const Node* first = nullptr;
  for (Value operand : node->operands()) {
    if (!first) first = Producer(operand, Op::kReshape);
  }
  if (!first) return {};
  const Dims& dims = first->operand_shape(0).dims();
  // Symbolic products take time, so they are formed only where a broadcast asks for them.
  Ints kept;
  for (Value operand : node->operands()) {
    if (kept.empty() && Producer(operand, Op::kBroadcastInDim) && !IsScalarEverywhere(operand)) {
      kept = KeptDimensions(dims, node->shape().dims());
    }
  }
  for (Value operand : node->operands()) {
    if (FindBefore(operand, dims, kept) == Before::kUnknown) return {};
  }
  std::vector<Value> operands;
  for (Value operand : node->operands()) {
    switch (FindBefore(operand, dims, kept)) {
      case Before::kReshape:
        operands.push_back(operand.node->operand(0));
        break;
      case Before::kScalar:
        operands.push_back(ScalarEverywhere(b, operand, dims));
        break;
      case Before::kBroadcast: {
        Ints dimensions;
        for (int64_t d : operand.node->Ints(Attr::dimensions)) dimensions.push_back(kept[d]);
        operands.push_back(b.BroadcastInDim(operand.node->operand(0), dims, dimensions));
        break;
      }
      default:
        operands.push_back(b.Reshape(operand, dims));
    }
  }
  Value before = b.AddOne(node->op(), operands, node->attrs());
  return before ? b.Reshape(before, node->shape().dims()) : Value();
}

// exp(transpose(%x), permutation=[1,0])  ->  transpose(exp(%x), permutation=[1,0])
// where every operand is so transposed and not used elsewhere, or is free to transpose.
Value ElementwiseOfTransposes(Node* node, FuncBuilder& b) {
  if (node->num_operands() == 0 || !HasEqualDims(*node)) return {};
  const Node* first = nullptr;
  for (Value operand : node->operands()) {
    if (!first) first = OnlyProducer(operand, Op::kTranspose);
  }
  if (!first) return {};
  const Ints& permutation = first->Ints(Attr::permutation);
  auto is_transposed = [&](Value operand) {
    Node* transpose = Producer(operand, Op::kTranspose);
    return transpose && transpose->Ints(Attr::permutation) == permutation;
  };
  for (Value operand : node->operands()) {
    const bool free = IsScalarEverywhere(operand) || Producer(operand, Op::kBroadcastInDim);
    const bool alone = OnlyProducer(operand, Op::kTranspose) || operand.node == first;
    if (!free && !(is_transposed(operand) && alone)) return {};
  }
  Ints inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = i;
  std::vector<Value> operands;
  for (Value operand : node->operands()) {
    operands.push_back(is_transposed(operand) ? operand.node->operand(0)
                                              : b.Transpose(operand, inverse));
  }
  Value before = b.AddOne(node->op(), operands, node->attrs());
  return before ? b.Transpose(before, permutation) : Value();
}

}  // namespace tektite::passes::rules
