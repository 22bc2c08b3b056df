// split_carried: carries in parts what each turn of a loop takes apart and puts together again.
//
//   before  %l = while(%cache)
//             body: (%c: f32[2,n,h]) -> concatenate(f(slice(%c, 0)), g(slice(%c, 1)))
//   after   %l:2 = while(slice(%cache, 0), slice(%cache, 1))
//             body: (%k: f32[1,n,h], %v: f32[1,n,h]) -> f(%k), g(%v)
//           concatenate(%l#0, %l#1)                                  // for what reads %l
//
// Programs that decode text keep keys and values of all layers in one tensor. A turn that writes a
// row of each part would otherwise copy all of them, twice where parts have parts; a part by itself
// is written in place.
//
// Limits: the condition does not read the value, the body reads it by slices of single parts, and
// puts it together along the same dimension from parts of the same sizes. Parts of fewer than
// kLeastElements elements stay together, since one kernel writes them as fast.
#include <algorithm>
#include <vector>

#include "jit/ops/builder.h"
#include "jit/passes/canonicalize/match.h"
#include "jit/passes/loops/loop_nodes.h"
#include "jit/passes/names.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

constexpr int64_t kLeastElements = 64;
constexpr int kMostParts = 256;

// [begin, end) of the dimension along which a value has parts.
struct Part {
  Dim begin, end;
  Value next;  // what a turn computes, before dimensions of size 1 were added or dropped
};

// So the part is carried as the turn updates it, and nothing is between the two.
Value WithoutReshapes(Value v) {
  while (v.node->op() == Op::kReshape &&
         rules::IsDegenerateReshape(v.node->operand_shape(0).dims(), v.shape().dims())) {
    v = v.node->operand(0);
  }
  return v;
}

// Which part a slice takes elements of; -1: of several, or of none that is known.
int PartOf(const Node& slice, int64_t dimension, const std::vector<Part>& parts) {
  const std::vector<int64_t>& strides = slice.Ints(Attr::strides);
  if (!strides.empty() && strides[dimension] != 1) return -1;
  const Dim& start = slice.attrs().GetDims(Attr::starts)[dimension];
  const Dim& limit = slice.attrs().GetDims(Attr::limits)[dimension];
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& [begin, end, next] = parts[i];
    if (start == begin && limit == end) return static_cast<int>(i);
    const bool known =
        start.is_constant() && limit.is_constant() && begin.is_constant() && end.is_constant();
    if (known && begin.value() <= start.value() && limit.value() <= end.value()) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

class Splitter {
 public:
  Splitter(Graph& graph, Node* loop, int carried)
      : graph_(graph), loop_(loop), carried_(carried), next_(Body(*loop).outputs()[carried].node) {
    // Where dimensions of size 1 were added or dropped behind it.
    if (next_->op() == Op::kReshape && next_->uses().empty() &&
        next_->operand(0).node->uses().size() == 1 &&
        rules::IsDegenerateReshape(next_->operand_shape(0).dims(), next_->shape().dims())) {
      next_ = next_->operand(0).node;
      is_reshaped_ = true;
    }
  }

  // The new loop in the old one's place; null where nothing is to be split.
  Node* Run() {
    if (!Find()) return nullptr;
    const std::vector<Value> outside = SplitOperand();
    Graph& body = Body(*loop_);
    std::vector<Value> outputs(body.outputs().begin(), body.outputs().end());
    std::vector<Value> parameters;
    for (size_t i = 0; i < parts_.size(); ++i) {
      Condition(*loop_).AddParameter(outside[i].shape());
      parameters.push_back(body.AddParameter(outside[i].shape()));
      outputs.push_back(parts_[i].next);
    }
    ReadParts(parameters);
    // What is left of the whole is the same in every turn, and goes (eliminate_carried).
    outputs[carried_] = body.parameter(carried_)->result();
    body.SetOutputs(outputs);
    const int first = loop_->num_operands();
    loop_ = WithOperands(graph_, loop_, outside);
    JoinResults(first);
    return loop_;
  }

 private:
  bool Find() {
    if (next_->op() != Op::kConcatenate || (!is_reshaped_ && !next_->uses().empty())) return false;
    if (next_->num_operands() > kMostParts) return false;
    if (!Condition(*loop_).parameter(carried_)->uses().empty()) return false;
    const int64_t along = next_->Int(Attr::dimension);
    Dim begin(0);
    for (const Value part : next_->operands()) {
      const Dim elements = part.shape().NumElements();
      if (elements.is_constant() && elements.value() < kLeastElements) return false;
      const Dim end = begin + part.shape().dim(static_cast<int>(along));
      parts_.push_back({begin, end, WithoutReshapes(part)});
      begin = end;
    }
    dimension_ = along;
    if (is_reshaped_) {
      const auto joined = rules::NonUnitDims(next_->shape().dims());
      const auto carried = rules::NonUnitDims(loop_->operand_shape(carried_).dims());
      const auto place = std::find(joined.begin(), joined.end(), along);
      if (place == joined.end()) return false;
      dimension_ = carried[place - joined.begin()];
    }
    const Node& parameter = *Body(*loop_).parameter(carried_);
    if (parameter.IsOutput()) return false;
    return std::all_of(parameter.uses().begin(), parameter.uses().end(), [&](const ir::Use& use) {
      return use.user->op() == Op::kSlice && PartOf(*use.user, dimension_, parts_) >= 0;
    });
  }

  std::vector<Value> SplitOperand() {
    FuncBuilder b(&graph_, loop_);
    const Value whole = loop_->operand(carried_);
    std::vector<Value> outside;
    for (const auto& [begin, end, next] : parts_) {
      const Value part = b.SliceDim(whole, static_cast<int>(dimension_), begin, end);
      outside.push_back(b.Reshape(part, next.shape().dims()));
    }
    return outside;
  }

  // The dimensions of a part as the whole has them.
  Dims PartDims(size_t i) const {
    Dims dims = loop_->operand_shape(carried_).dims();
    dims[dimension_] = parts_[i].end - parts_[i].begin;
    return dims;
  }

  void ReadParts(const std::vector<Value>& parameters) {
    Graph& body = Body(*loop_);
    Node* const parameter = body.parameter(carried_);
    std::vector<Node*> slices;
    for (const ir::Use& use : parameter->uses()) slices.push_back(use.user);
    for (Node* slice : slices) {
      const int part = PartOf(*slice, dimension_, parts_);
      Dims starts = slice->attrs().GetDims(Attr::starts);
      Dims limits = slice->attrs().GetDims(Attr::limits);
      starts[dimension_] = starts[dimension_] - parts_[part].begin;
      limits[dimension_] = limits[dimension_] - parts_[part].begin;
      slice->attrs().Set(Attr::starts, starts);
      slice->attrs().Set(Attr::limits, limits);
      slice->SetOperand(0, FuncBuilder(&body, slice).Reshape(parameters[part], PartDims(part)));
    }
  }

  void JoinResults(int first) {
    const Value whole = loop_->result(carried_);
    if (loop_->uses(carried_).empty() && !loop_->IsOutput(carried_)) return;
    std::vector<Node*> nodes = graph_.NodeList();
    const auto after = std::next(std::find(nodes.begin(), nodes.end(), loop_));
    FuncBuilder b(&graph_, after == nodes.end() ? nullptr : *after);
    std::vector<Value> results;
    for (size_t i = 0; i < parts_.size(); ++i) {
      results.push_back(b.Reshape(loop_->result(first + static_cast<int>(i)), PartDims(i)));
    }
    graph_.ReplaceAllUses(whole, b.Concatenate(results, static_cast<int>(dimension_)));
  }

  Graph& graph_;
  Node* loop_;
  const int carried_;
  Node* next_;                // a concatenate
  bool is_reshaped_ = false;  // of which a reshape is the next turn's value
  int64_t dimension_ = 0;     // of the carried value
  std::vector<Part> parts_;
};

bool SplitIn(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.NodeList()) {
    for (int r = 0; r < node->num_regions(); ++r) changed |= SplitIn(node->region(r));
    if (node->op() != Op::kWhile) continue;
    // Parts stand behind all others, and may have parts.
    for (int i = 0; i < node->num_operands(); ++i) {
      Node* const split = Splitter(graph, node, i).Run();
      if (split == nullptr) continue;
      node = split;
      changed = true;
    }
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> SplitCarried(ir::Graph& graph, PassContext& context) { return SplitIn(graph); }

}  // namespace tektite::passes
