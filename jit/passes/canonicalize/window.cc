// Rules of reduce_window.
#include <algorithm>

#include "jit/ops/ops.h"
#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {
namespace {

using ops::WindowDims;

WindowDims Window(const Node& node) {
  return ops::GetWindowDims(node.operand_shape(0).rank(), node.attrs());
}

bool HasNoPadding(const WindowDims& w) { return AllAre(w.low, 0) && AllAre(w.high, 0); }

// Every element is at least zero, or NaN: what a ReLU leaves.
// `ops_left`: a graph in which each value is read twice has 2^n ways through n ops.
bool IsNonNegative(Value value, int* ops_left) {
  if (--*ops_left < 0) return false;
  switch (value.node->op()) {
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kBroadcastInDim:
      return IsNonNegative(value.node->operand(0), ops_left);
    case Op::kAbs:
      return ir::IsFloat(value.dtype());
    case Op::kExp:
    case Op::kLogistic:
      return true;
    case Op::kSelect: {
      // select(gt(%x, 0), %x, 0), the ReLU of fused ops
      Node* above = Producer(value.node->operand(0), Op::kCompare);
      return above && above->String(Attr::direction) == "gt" && IsSplat(above->operand(1), 0) &&
             above->operand(0) == value.node->operand(1) && IsSplat(value.node->operand(2), 0);
    }
    case Op::kMax:
      return IsNonNegative(value.node->operand(0), ops_left) ||
             IsNonNegative(value.node->operand(1), ops_left);
    case Op::kMin:
      return IsNonNegative(value.node->operand(0), ops_left) &&
             IsNonNegative(value.node->operand(1), ops_left);
    case Op::kClamp:
      return IsNonNegative(value.node->operand(0), ops_left) &&
             IsNonNegative(value.node->operand(2), ops_left);
    case Op::kConstant: {
      std::optional<Literal> splat = SplatOf(value);
      return splat && splat->AsDouble(0) >= 0;
    }
    default:
      return false;
  }
}

bool IsNonNegative(Value value) {
  int ops_left = 64;
  return IsNonNegative(value, &ops_left);
}

// Every window of `w` that reaches into the padding also has an element of the operand.
bool EveryWindowMeetsOperand(const WindowDims& w, const Shape& padded, const Ints& low,
                             const Ints& high) {
  for (size_t d = 0; d < low.size(); ++d) {
    if (low[d] == 0 && high[d] == 0) continue;
    const Dim& size = padded.dim(d);
    if (low[d] >= w.window[d] || high[d] >= w.window[d] || w.low[d] != 0 || w.high[d] != 0 ||
        !size.is_constant() || size.value() - low[d] - high[d] < 1 || w.window_dilation[d] != 1) {
      return false;
    }
  }
  return true;
}

// The operand of reduce_window, and where it takes the greatest or least float the reducer's
// identity in place of NaN, which does not count under a window.
Value WithoutNan(FuncBuilder& b, Node* node) {
  Value x = node->operand(0);
  const std::string& reducer = node->String(Attr::reducer);
  if (!ir::IsFloat(x.dtype()) || (reducer != "max" && reducer != "min")) return x;
  const Value none = SplatTo(b, ops::ReducerIdentity(reducer, x.dtype()), x.shape().dims());
  return b.Select(b.Compare(x, none, reducer == "max" ? "gt" : "lt"), x, none);
}

}  // namespace

// reduce_window(%x), window=[1,1], strides=[1,2]  ->  slice(%x), strides=[1,2]
Value WindowOfOneElement(Node* node, FuncBuilder& b) {
  const WindowDims w = Window(*node);
  if (!AllAre(w.window, 1) || !HasNoPadding(w) || !AllAre(w.lhs_dilation, 1)) return {};
  const Dims& dims = node->operand_shape(0).dims();
  return b.Slice(WithoutNan(b, node), Dims(dims.size(), Dim(0)), dims, w.strides);
}

// reduce_window(%x: f32[2,7,7,9]), window=[1,7,7,1], reducer=add
//   ->  reshape(reduce(%x), dimensions=[1,2]), shape=[2,1,1,9]
// where each window spans its whole dimension, or one element at stride one.
Value WindowOfWholeDimensions(Node* node, FuncBuilder& b) {
  const WindowDims w = Window(*node);
  const Shape& shape = node->operand_shape(0);
  if (!HasNoPadding(w) || !AllAre(w.lhs_dilation, 1) || !AllAre(w.window_dilation, 1)) return {};
  Ints dimensions;
  for (int d = 0; d < shape.rank(); ++d) {
    if (w.window[d] == 1 && w.strides[d] == 1) continue;
    if (!(shape.dim(d) == Dim(w.window[d]))) return {};
    dimensions.push_back(d);
  }
  if (dimensions.empty()) return {};
  return b.Reshape(b.Reduce(WithoutNan(b, node), dimensions, node->String(Attr::reducer)),
                   node->shape().dims());
}

// reduce_window(pad(%x, -inf), low=[0,1], high=[0,1]), window=[1,3], reducer=max
//   ->  reduce_window(%x), window=[1,3], low=[0,1], high=[0,1], reducer=max
// for padding with the reducer's identity; also for padding with zero under max where %x is a
// ReLU's output and no window holds padding alone, as ZeroPadding2D before MaxPooling2D makes it.
Value WindowOfPad(Node* node, FuncBuilder& b) {
  Node* pad = Producer(node->operand(0), Op::kPad);
  WindowDims w = Window(*node);
  if (!pad || !AllAre(pad->Ints(Attr::interior), 0) || !AllAre(w.lhs_dilation, 1)) return {};
  std::optional<Literal> value = SplatOf(pad->operand(1));
  if (!value) return {};
  const Ints low = PerDimension(*pad, Attr::low, 0), high = PerDimension(*pad, Attr::high, 0);
  auto negative = [](int64_t v) { return v < 0; };
  if (std::any_of(low.begin(), low.end(), negative) ||
      std::any_of(high.begin(), high.end(), negative)) {
    return {};
  }
  const std::string& reducer = node->String(Attr::reducer);
  const bool is_identity = *value == ops::ReducerIdentity(reducer, value->dtype());
  const bool is_lost = reducer == "max" && value->IsAll(0) && IsNonNegative(pad->operand(0)) &&
                       EveryWindowMeetsOperand(w, pad->shape(), low, high);
  if (!is_identity && !is_lost) return {};
  for (size_t d = 0; d < low.size(); ++d) {
    w.low[d] += low[d];
    w.high[d] += high[d];
  }
  return b.ReduceWindow(pad->operand(0), reducer, w);
}

}  // namespace tektite::passes::rules
