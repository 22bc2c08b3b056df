// eliminate_carried: removes what a loop carries and nothing needs.
//
//   before  %l:3 = while(%i, %h, %n)   body: (%i, %h, %n) -> %i + 1, tanh(%h), %n + 1
//   after   %l:2 = while(%i, %h)       body: (%i, %h) -> %i + 1, tanh(%h)     (nothing reads %l#2)
//
// A carried value is needed if something outside reads its result, if the condition depends on it,
// or if the next turn's value of a needed one does.  TensorFlow's loops carry a counter beside the
// program's own, and every weight that hoist_products has taken out of a turn.
//
// Limits: a loop or a choice in the body needs all of its operands; the repeated passes have run on
// it before.
#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "jit/passes/loop_nodes.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

using ir::Attr;
using ir::Graph;
using ir::Node;
using ir::Op;
using ir::Value;

// The parameters that some values depend on.
class Reached {
 public:
  explicit Reached(const Graph& region) : parameters_(region.num_parameters(), false) {}

  void Add(Value value) {
    std::vector<const Node*> left = {value.node};
    while (!left.empty()) {
      const Node* node = left.back();
      left.pop_back();
      if (!seen_.insert(node).second) continue;
      if (node->op() == Op::kParameter) parameters_[node->Int(Attr::index)] = true;
      for (const Value operand : node->operands()) left.push_back(operand.node);
    }
  }
  bool Has(int parameter) const { return parameters_[parameter]; }

 private:
  std::vector<bool> parameters_;
  absl::flat_hash_set<const Node*> seen_;
};

std::vector<bool> Needed(const Node& loop) {
  Reached by_condition(Condition(loop)), by_body(Body(loop));
  for (const Value value : Condition(loop).outputs()) by_condition.Add(value);
  const int carried = loop.num_operands();
  std::vector<bool> needed(carried);
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < carried; ++i) {
      if (needed[i]) continue;
      const bool is_read = !loop.uses(i).empty() || loop.IsOutput(i);
      if (!is_read && !by_condition.Has(i) && !by_body.Has(i)) continue;
      needed[i] = changed = true;
      by_body.Add(Body(loop).outputs()[i]);
    }
  }
  return needed;
}

bool EliminateIn(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.NodeList()) {
    for (int r = 0; r < node->num_regions(); ++r) changed |= EliminateIn(node->region(r));
    if (node->op() != Op::kWhile) continue;
    const std::vector<bool> needed = Needed(*node);
    const auto kept = std::count(needed.begin(), needed.end(), true);
    // A loop whose results nothing reads goes as a whole (eliminate_dead).
    if (kept == 0 || kept == node->num_operands()) continue;
    WithoutCarried(graph, node, needed);
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> EliminateCarried(ir::Graph& graph, PassContext& context) {
  return EliminateIn(graph);
}

}  // namespace tektite::passes
