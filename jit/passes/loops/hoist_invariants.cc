// hoist_invariants: computes before a loop the values that are the same in each of its turns.
//
//   before  while(%i, %h, %w)  body: ... %t = transpose(%w)  %q = dot_general(%h, %t) ...
//   after   %t = transpose(%w)
//           while(%i, %h, %w, %t)  body: ... %q = dot_general(%h, %t) ...
//
// A value that a body returns unchanged is the same in each turn, and so is a node that depends on
// such values and constants alone.  In the body these are weights, and the parameters are marked
// so: nodes that other passes split off for weights, such as the panels of a product's right-hand
// side, are then moved out by this pass too, which runs again behind them (hoist_packing).  Weights
// of the graph around the loop stay weights: that work is done once for all calls.
//
// A broadcast or a reshape stays in the body and reads its operand from outside: made in memory it
// would cost more than it saves.  A loop without turns computes values that it does not need;
// nothing here can fail.  Parameters that are constants outside become constants in the regions.

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/ir/control.h"
#include "jit/passes/fusion/fusion_nodes.h"
#include "jit/passes/loops/loop_nodes.h"
#include "jit/passes/names.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

bool IsCheap(const Node& node) {
  return node.op() == Op::kConstant || node.op() == Op::kBroadcastInDim || node.op() == Op::kIota ||
         node.op() == Op::kReshape || node.op() == Op::kSizeValue;
}

class Hoister {
 public:
  Hoister(Graph& graph, Node* loop) : graph_(graph), loop_(loop) {}

  bool Run() {
    bool changed = ForwardConstants();
    changed |= MarkWeights();
    Graph& body = Body(*loop_);
    for (Node* node : body.NodeList()) {
      // Nodes that stay read invariant ones from outside: of a chain of those only its end is
      // carried.
      if (IsInvariant(*node)) continue;
      for (int i = 0; i < node->num_operands(); ++i) {
        const Value inside = Carried(node->operand(i));
        if (inside != node->operand(i)) node->SetOperand(i, inside);
      }
    }
    if (added_.empty()) return changed;
    body.EraseDead();
    WithOperands(graph_, loop_, added_);
    return true;
  }

 private:
  // In both regions; the parameters are then dead.
  bool ForwardConstants() {
    bool changed = false;
    for (int i = 0; i < loop_->num_operands(); ++i) {
      const Node& constant = *loop_->operand(i).node;
      if (constant.op() != Op::kConstant || !ir::IsInvariant(*loop_, i)) continue;
      for (int r = 0; r < loop_->num_regions(); ++r) {
        Graph& region = loop_->region(r);
        Node* const parameter = region.parameter(i);
        if (parameter->uses().empty()) continue;
        Node* const first = region.NodeList()[region.num_parameters()];
        Node* const copy =
            region.Append(Op::kConstant, {}, constant.attrs(), {constant.shape()}, first);
        region.ReplaceAllUses(parameter->result(), copy->result());
        for (int o = 0; r == 1 && o < loop_->num_results(); ++o) {
          if (region.outputs()[o] == copy->result() && o == i) {
            region.SetOutput(o, parameter->result());
          }
        }
        changed = true;
      }
    }
    return changed;
  }

  bool MarkWeights() {
    bool changed = false;
    for (int i = 0; i < loop_->num_operands(); ++i) {
      Node* const parameter = Body(*loop_).parameter(i);
      if (!ir::IsInvariant(*loop_, i) || parameter->Bool(Attr::weight)) continue;
      parameter->attrs().Set(Attr::weight, true);
      changed = true;
    }
    return changed;
  }

  // Only of nodes of the body, in which operands come first.
  bool IsInvariant(const Node& node) {
    const auto [it, added] = invariant_.try_emplace(&node, false);
    if (!added) return it->second;
    bool invariant = node.op() == Op::kParameter
                         ? ir::IsInvariant(*loop_, static_cast<int>(node.Int(Attr::index)))
                         : !ir::IsControl(node) && !node.Bool(Attr::in_place);
    for (Value v : node.operands()) invariant = invariant && IsInvariant(*v.node);
    return invariant_[&node] = invariant;
  }

  // The value that the body reads instead of `v`: `v` itself where it is not computed or changes.
  Value Carried(Value v) {
    if (v.node->op() == Op::kParameter || !IsInvariant(*v.node)) return v;
    if (IsCheap(*v.node)) {
      for (int i = 0; i < v.node->num_operands(); ++i) {
        const Value inside = Carried(v.node->operand(i));
        if (inside != v.node->operand(i)) v.node->SetOperand(i, inside);
      }
      return v;
    }
    const auto it = inside_.find(v);
    if (it != inside_.end()) return it->second;
    added_.push_back(Outside(v));
    const Value inside = AddInvariant(*loop_, v.shape());
    inside.node->attrs().Set(Attr::weight, true);
    invariant_[inside.node] = true;
    return inside_[v] = inside;
  }

  // The same, computed before the loop.
  Value Outside(Value v) {
    if (v.node->op() == Op::kParameter) {
      const int index = static_cast<int>(v.node->Int(Attr::index)), old = loop_->num_operands();
      return index < old ? loop_->operand(index) : added_[index - old];
    }
    const auto it = outside_.find(v);
    if (it != outside_.end()) return it->second;
    std::vector<Value> operands;
    for (Value operand : v.node->operands()) operands.push_back(Outside(operand));
    Node* const copy = graph_.AppendCopy(*v.node, operands, loop_);
    for (int r = 0; r < copy->num_results(); ++r) outside_[v.node->result(r)] = copy->result(r);
    return outside_.at(v);
  }

  Graph& graph_;
  Node* loop_;
  absl::flat_hash_map<const Node*, bool> invariant_;
  absl::flat_hash_map<Value, Value> inside_, outside_;
  std::vector<Value> added_;
};

bool HoistIn(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.NodeList()) {
    if (!ir::IsControl(*node)) continue;
    for (int r = 0; r < node->num_regions(); ++r) changed |= HoistIn(node->region(r));
    if (node->op() == Op::kWhile) changed |= Hoister(graph, node).Run();
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> HoistInvariants(Graph& graph, PassContext&) { return HoistIn(graph); }

}  // namespace tektite::passes
