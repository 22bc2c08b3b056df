// Rewrites nodes into simpler or more regular ones by a table of small rules.
//
//   %0 = transpose(%w), permutation=[1,0]
//   %1 = dot_general(%x, %0), lhs_contracting=[1], rhs_contracting=[0]
//   %2 = neg(%1)
//   %3 = neg(%2)
//     ->
//   %0 = dot_general(%x, %w), lhs_contracting=[1], rhs_contracting=[1]
//
// First in the pipeline, so that every later pass meets one form of a thing.  The rules are in
// canonicalize/; calls, tuples and conditionals with a known branch are opened here.  Sweeps over
// the graph repeat until one changes nothing.  Regions are graphs like any other, but those of
// fusions are done.
#include <algorithm>
#include <vector>

#include "absl/strings/str_split.h"
#include "jit/base/status.h"
#include "jit/passes/canonicalize/rules.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Op;
using ir::Value;

// A bound on time, not on meaning: rules simplify, so that a handful of sweeps is enough.
constexpr int kMaxSweeps = 32;

using RuleFn = Value (*)(Node*, ops::FuncBuilder&);

// What a row of the rule list names: one op, or all elementwise ones.
enum ElementwiseOps { Elementwise };
struct OpSet {
  OpSet(Op op) : ops({op}) {}  // NOLINT: rows name ops
  OpSet(ElementwiseOps) {      // NOLINT
    for (int op = 0; op < ir::kNumOps; ++op) {
      if (ir::IsElementwise(static_cast<Op>(op))) ops.push_back(static_cast<Op>(op));
    }
  }
  std::vector<Op> ops;
};

struct Rule {
  absl::string_view name;
  RuleFn apply;
};

// The rules to try, by op: all of the list but those named in the flag disable_passes.
class RuleTable {
 public:
  explicit RuleTable(absl::string_view disabled)
      : disabled_(absl::StrSplit(disabled, ',')), rules_(ir::kNumOps) {
#define TEKTITE_RULE(function, ...) Add({#function, &rules::function}, {__VA_ARGS__});
#include "jit/passes/canonicalize/rule_list.inc"
#undef TEKTITE_RULE
  }
  const std::vector<Rule>& Of(Op op) const { return rules_[static_cast<int>(op)]; }

 private:
  void Add(Rule rule, std::initializer_list<OpSet> sets) {
    if (std::find(disabled_.begin(), disabled_.end(), rule.name) != disabled_.end()) return;
    for (const OpSet& set : sets) {
      for (Op op : set.ops) rules_[static_cast<int>(op)].push_back(rule);
    }
  }
  std::vector<absl::string_view> disabled_;
  std::vector<std::vector<Rule>> rules_;
};

// Erases `node` and what it alone needed.
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

// What the results of a node that only arranges values are; empty for every other node.
std::vector<Value> OpenStructure(Graph& graph, Node* node) {
  switch (node->op()) {
    case Op::kTuple:
      return {node->operands().begin(), node->operands().end()};
    case Op::kGetTupleElement:
      return {node->operand(node->Int(ir::Attr::index))};
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

class Canonicalizer {
 public:
  explicit Canonicalizer(PassContext& context)
      : table_(context.flags.disable_passes), context_(context) {}

  bool Run(Graph& graph) {
    bool changed = graph.EraseDead();
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      bool changed_now = false;
      // A rewrite erases the node and nodes before it, adds nodes before it, and leaves those after
      // it: the rest of the list stays valid.
      for (Node* node : graph.NodeList()) {
        if (node->op() == Op::kFusion) continue;
        for (int i = 0; i < node->num_regions(); ++i) changed_now |= Run(node->region(i));
        if (node->op() != Op::kParameter && !node->IsDead()) changed_now |= Rewrite(graph, node);
      }
      changed |= changed_now;
      if (!changed_now) break;
    }
    graph.EraseDead();  // what a rule built in vain is no change
    return changed;
  }

 private:
  bool Rewrite(Graph& graph, Node* node) {
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

  const RuleTable table_;
  PassContext& context_;
};

}  // namespace

absl::StatusOr<bool> Canonicalize(Graph& graph, PassContext& context) {
  return Canonicalizer(context).Run(graph);
}

}  // namespace tektite::passes
