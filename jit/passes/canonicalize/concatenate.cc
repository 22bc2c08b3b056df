// Rules of concatenate and pad.
#include <algorithm>

#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {
namespace {

// `next` is a slice that goes on where `slice` ends in dimension d and is otherwise the same.
bool GoesOn(const Node* slice, const Node* next, int64_t d) {
  if (!slice || !next || slice->operand(0) != next->operand(0)) return false;
  for (const Node* s : {slice, next}) {
    if (!AllAre(s->Ints(Attr::strides), 1)) return false;
  }
  const Dims &starts = slice->attrs().GetDims(Attr::starts),
             &limits = slice->attrs().GetDims(Attr::limits),
             &next_starts = next->attrs().GetDims(Attr::starts),
             &next_limits = next->attrs().GetDims(Attr::limits);
  for (int64_t i = 0; i < slice->shape().rank(); ++i) {
    if (i == d ? limits[i] != next_starts[i]
               : starts[i] != next_starts[i] || limits[i] != next_limits[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

// concatenate(%x)  ->  %x
// concatenate(%x, %y: f32[0])  ->  %x
// concatenate(concatenate(%x, %y), %z)  ->  concatenate(%x, %y, %z)        same dimension, one use
Value ConcatenateOfFew(Node* node, FuncBuilder& b) {
  const int64_t d = node->Int(Attr::dimension);
  std::vector<Value> pieces;
  for (Value operand : node->operands()) {
    Node* inner = OnlyProducer(operand, Op::kConcatenate);
    if (inner && inner->Int(Attr::dimension) == d) {
      pieces.insert(pieces.end(), inner->operands().begin(), inner->operands().end());
    } else if (!IsZero(operand.shape().dim(d))) {
      pieces.push_back(operand);
    }
  }
  if (pieces.empty()) return node->operand(0);
  if (pieces.size() == 1) return pieces[0];
  return absl::MakeConstSpan(pieces) == node->operands() ? Value() : b.Concatenate(pieces, d);
}

// concatenate(slice(%x)[0:2], slice(%x)[2:5])  ->  slice(%x)[0:5]
Value ConcatenateOfSlices(Node* node, FuncBuilder& b) {
  const int64_t d = node->Int(Attr::dimension);
  std::vector<std::pair<Node*, Node*>> runs;  // first and last slice, or the same node twice
  for (Value operand : node->operands()) {
    Node* last = runs.empty() ? nullptr : Producer(runs.back().second->result(), Op::kSlice);
    if (operand.index != 0) return {};
    if (GoesOn(last, Producer(operand, Op::kSlice), d)) {
      runs.back().second = operand.node;
    } else {
      runs.push_back({operand.node, operand.node});
    }
  }
  if (static_cast<int>(runs.size()) == node->num_operands()) return {};
  std::vector<Value> pieces;
  for (auto [first, last] : runs) {
    if (first == last) {
      pieces.push_back(first->result());
      continue;
    }
    Dims limits = first->attrs().GetDims(Attr::limits);
    limits[d] = last->attrs().GetDims(Attr::limits)[d];
    pieces.push_back(b.Slice(first->operand(0), first->attrs().GetDims(Attr::starts), limits,
                             Ints(limits.size(), 1)));
  }
  return pieces.size() == 1 ? pieces[0] : b.Concatenate(pieces, d);
}

// pad(%x, %v), low=[0], high=[0], interior=[0]  ->  %x
Value PadOfNothing(Node* node, FuncBuilder& b) {
  const bool nothing = AllAre(node->Ints(Attr::low), 0) && AllAre(node->Ints(Attr::high), 0) &&
                       AllAre(node->Ints(Attr::interior), 0);
  return nothing ? node->operand(0) : Value();
}

// pad(%x: f32[9], %v), low=[-2], high=[-1]  ->  slice(%x), starts=[2], limits=[8]
Value PadThatCrops(Node* node, FuncBuilder& b) {
  const Ints low = PerDimension(*node, Attr::low, 0), high = PerDimension(*node, Attr::high, 0);
  auto positive = [](int64_t v) { return v > 0; };
  if (!AllAre(node->Ints(Attr::interior), 0) || std::any_of(low.begin(), low.end(), positive) ||
      std::any_of(high.begin(), high.end(), positive)) {
    return {};
  }
  Dims starts, limits;
  for (int d = 0; d < node->shape().rank(); ++d) {
    starts.push_back(-low[d]);
    limits.push_back(node->operand_shape(0).dim(d) + high[d]);
  }
  return b.Slice(node->operand(0), starts, limits, Ints(low.size(), 1));
}

// pad(pad(%x, 0), 0)  ->  pad(%x, 0), with the sums of low and of high
// for the same value, no interior, and nothing cropped.
Value PadOfPad(Node* node, FuncBuilder& b) {
  Node* inner = Producer(node->operand(0), Op::kPad);
  if (!inner) return {};
  std::optional<Literal> value = SplatOf(node->operand(1)), other = SplatOf(inner->operand(1));
  const bool same = node->operand(1) == inner->operand(1) || (value && other && *value == *other);
  if (!same) return {};
  for (const Node* pad : {node, inner}) {
    auto negative = [](int64_t v) { return v < 0; };
    const Ints low = PerDimension(*pad, Attr::low, 0), high = PerDimension(*pad, Attr::high, 0);
    if (!AllAre(pad->Ints(Attr::interior), 0) || std::any_of(low.begin(), low.end(), negative) ||
        std::any_of(high.begin(), high.end(), negative)) {
      return {};
    }
  }
  Ints low = PerDimension(*node, Attr::low, 0), high = PerDimension(*node, Attr::high, 0);
  for (size_t d = 0; d < low.size(); ++d) {
    low[d] += PerDimension(*inner, Attr::low, 0)[d];
    high[d] += PerDimension(*inner, Attr::high, 0)[d];
  }
  return b.Pad(inner->operand(0), node->operand(1), low, high);
}

}  // namespace tektite::passes::rules
