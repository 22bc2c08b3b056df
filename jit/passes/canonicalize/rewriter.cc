#include "jit/passes/canonicalize/rewriter.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "jit/base/status.h"
#include "jit/passes/canonicalize/match.h"
#include "jit/passes/names.h"

namespace tektite::passes {
namespace {

// A bound on time, not on meaning: rules simplify, so that a handful of sweeps is enough.
constexpr int kMaxSweeps = 32;

// Erases `node` and the nodes that it alone needed.
void EraseChain(Graph& graph, Node* node) {
  std::vector<Node*> waiting = {node};
  while (!waiting.empty()) {
    Node* next = waiting.back();
    waiting.pop_back();
    if (next->op() == Op::kParameter || !next->IsDead()) continue;
    std::vector<Node*> producers;
    for (Value operand : next->operands()) {
      if (std::find(producers.begin(), producers.end(), operand.node) == producers.end()) {
        producers.push_back(operand.node);
      }
    }
    // One that is in the list already would be erased twice.
    for (Node* producer : producers) {
      if (std::find(waiting.begin(), waiting.end(), producer) == waiting.end()) {
        waiting.push_back(producer);
      }
    }
    graph.Erase(next);
  }
}

// The branch a conditional takes if that is known, otherwise null: the first for true, the one with
// that number for an integer, the last for a number out of range.
const Graph* KnownBranch(const Node& node) {
  std::optional<ir::Literal> selector = rules::SplatOf(node.operand(0));
  if (!selector) return nullptr;
  const int64_t last = node.num_regions() - 1;
  if (selector->dtype() == ir::DType::kBool) return &node.region(selector->AsInt(0) ? 0 : 1);
  const int64_t index = selector->AsInt(0);
  return &node.region(index < 0 || index > last ? last : index);
}

// The results of a call or of a decided conditional; empty for every other node.
std::vector<Value> OpenStructure(Graph& graph, Node* node) {
  switch (node->op()) {
    case Op::kCall:
      return graph.Inline(node->region(), node->operands(), node);
    case Op::kConditional: {
      const Graph* branch = KnownBranch(*node);
      if (!branch || branch->num_parameters() != node->num_operands() - 1) return {};
      return graph.Inline(*branch, node->operands().subspan(1), node);
    }
    default:
      return {};
  }
}

// Only the symbols may differ in how they are written: then the old shape's users would have to be
// inferred anew, so the rule does not apply.
bool MayReplace(Value from, Value to) { return to && to != from && to.shape() == from.shape(); }

class Rewriter {
 public:
  Rewriter(const RuleTable& table, PassContext& context) : table_(table), context_(context) {}

  absl::StatusOr<bool> Run(Graph& graph) {
    bool changed = graph.EraseDead();
    std::map<absl::string_view, int> before;
    for (int sweep = 1;; ++sweep) {
      if (sweep == kMaxSweeps / 2 + 1) before = context_.rules_applied;
      TEKTITE_ASSIGN_OR_RETURN(const bool changed_now, Sweep(graph));
      changed |= changed_now;
      if (!changed_now) break;
      if (sweep < kMaxSweeps) continue;
      TEKTITE_RETURN_IF_ERROR(
          Unsettled(absl::StrCat(kMaxSweeps, " sweeps; the later half applied"), before, context_));
      break;
    }
    graph.EraseDead();  // what a rule built in vain is no change
    return changed;
  }

 private:
  absl::StatusOr<bool> Sweep(Graph& graph) {
    bool changed = false;
    // A rewrite erases the node and nodes before it, adds nodes before it, and leaves those after
    // it: the rest of the list stays valid.
    for (Node* node : graph.NodeList()) {
      if (node->op() == Op::kFusion) continue;
      for (int i = 0; i < node->num_regions(); ++i) {
        TEKTITE_ASSIGN_OR_RETURN(const bool region_changed, Run(node->region(i)));
        changed |= region_changed;
      }
      if (node->op() != Op::kParameter && !node->IsDead()) changed |= RewriteNode(graph, node);
    }
    return changed;
  }

  bool RewriteNode(Graph& graph, Node* node) {
    const std::vector<Value> opened = OpenStructure(graph, node);
    if (!opened.empty()) {
      for (int i = 0; i < node->num_results(); ++i) {
        graph.ReplaceAllUses(node->result(i), opened[i]);
      }
      EraseChain(graph, node);
      return true;
    }
    if (node->num_results() != 1) return false;
    for (const Rule& rule : table_.Of(node->op())) {
      ops::FuncBuilder builder(&graph, node);
      builder.set_name(node->name());
      const Value better = rule.apply(node, builder);
      if (!builder.status().ok() || !MayReplace(node->result(), better)) continue;
      graph.ReplaceAllUses(node->result(), better);
      EraseChain(graph, node);
      ++context_.rules_applied[rule.name];
      return true;
    }
    return false;
  }

  const RuleTable& table_;
  PassContext& context_;
};

}  // namespace

absl::StatusOr<bool> Rewrite(Graph& graph, const RuleTable& table, PassContext& context) {
  return Rewriter(table, context).Run(graph);
}

}  // namespace tektite::passes
