// eliminate_carried: removes what a loop carries and nothing needs.
//
//   before  %l:3 = while(%i, %h, %n)   body: (%i, %h, %n) -> %i + 1, tanh(%h), %n + 1
//   after   %l:2 = while(%i, %h)       body: (%i, %h) -> %i + 1, tanh(%h)     (nothing reads %l#2)
//
// A carried value is needed if something outside reads its result, if the condition depends on it,
// or if the next turn's value of a needed one does.  TensorFlow's loops carry a counter beside the
// program's own, and every weight that hoist_products has taken out of a turn.
//
// Two that begin equal and whose next values are equal while they are, as two counters' are, become
// one:
//
//   before  %l:3 = while(%0, %0, %h)   condition: %i < 9 & %n < 9   body: %i + 1, %n + 1, f(%n, %h)
//   after   %l:2 = while(%0, %h)       condition: %i < 9 & %i < 9   body: %i + 1, f(%i, %h)
//
// Limits: next values are compared as far as kMostDepth ops back.
#include <algorithm>
#include <vector>

#include "jit/ir/control.h"
#include "jit/passes/loops/loop_nodes.h"
#include "jit/passes/loops/needed_values.h"
#include "jit/passes/names.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

constexpr int kMostDepth = 8;

// Whether two values of a region are equal where the parameters `i` and `j` are.
bool EqualWhere(Value a, Value b, int i, int j, int depth) {
  if (a == b) return true;
  const Node &x = *a.node, &y = *b.node;
  if (x.op() == Op::kParameter && y.op() == Op::kParameter) {
    const int64_t p = x.Int(Attr::index), q = y.Int(Attr::index);
    return (p == i && q == j) || (p == j && q == i);
  }
  if (depth == 0 || a.index != b.index || x.op() != y.op() || x.shapes() != y.shapes() ||
      x.num_operands() != y.num_operands() || x.num_regions() + y.num_regions() > 0 ||
      !(x.attrs() == y.attrs())) {
    return false;
  }
  for (int o = 0; o < x.num_operands(); ++o) {
    if (!EqualWhere(x.operand(o), y.operand(o), i, j, depth - 1)) return false;
  }
  return true;
}

// Lets one of two values that are equal in every turn be read in the other's place.
bool JoinEqual(Graph& graph, Node* loop) {
  // By anything but its own next value; a counter that runs down is read through that.
  const auto is_read = [&](int j) {
    bool read = !loop->uses(j).empty() || loop->IsOutput(j);
    const Node* next = Body(*loop).outputs()[j].node;
    for (int r = 0; r < loop->num_regions(); ++r) {
      const Node* parameter = loop->region(r).parameter(j);
      for (const ir::Use& use : parameter->uses())
        read |= use.user != next || !next->uses().empty();
    }
    return read;
  };
  bool changed = false;
  for (int j = 1; j < loop->num_operands(); ++j) {
    if (ir::IsInvariant(*loop, j) || !is_read(j)) continue;
    for (int i = 0; i < j; ++i) {
      if (loop->operand(i) != loop->operand(j) ||
          !EqualWhere(Body(*loop).outputs()[i], Body(*loop).outputs()[j], i, j, kMostDepth)) {
        continue;
      }
      graph.ReplaceAllUses(loop->result(j), loop->result(i));
      for (int r = 0; r < loop->num_regions(); ++r) {
        Graph& region = loop->region(r);
        region.ReplaceAllUses(region.parameter(j)->result(), region.parameter(i)->result());
      }
      changed = true;
      break;
    }
  }
  return changed;
}

bool EliminateCarriedIn(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.NodeList()) {
    for (int r = 0; r < node->num_regions(); ++r) changed |= EliminateCarriedIn(node->region(r));
    if (node->op() != Op::kWhile) continue;
    changed |= JoinEqual(graph, node);
    const std::vector<bool> needed = NeededValues().ForResults(*node, ReadResults(*node));
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
  return EliminateCarriedIn(graph);
}

}  // namespace tektite::passes
