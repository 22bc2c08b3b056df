// Applies rules to the nodes of a graph until none applies.
//
//   RuleTable table;
//   table.Add({"NegOfNeg", &rules::NegOfNeg}, {Op::kNeg});
//   TEKTITE_ASSIGN_OR_RETURN(const bool changed, Rewrite(graph, table, context));
//
// Sweeps over the graph repeat until one changes nothing, 32 at most: that there are more to come
// means that rules undo each other, which is reported (pass.h, Unsettled).  Calls, tuples and
// conditionals with a known branch are opened, too.  Regions are graphs like any other, but those
// of fusions are left alone.
#ifndef TEKTITE_JIT_PASSES_CANONICALIZE_REWRITER_H_
#define TEKTITE_JIT_PASSES_CANONICALIZE_REWRITER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/ops/builder.h"
#include "jit/passes/pass.h"

namespace tektite::passes {

// A function as rules.h describes it, and its name.
struct Rule {
  absl::string_view name;
  ir::Value (*apply)(ir::Node*, ops::FuncBuilder&);
};

// The rules to try, by op, in the order in which they were added.
class RuleTable {
 public:
  RuleTable() : rules_(ir::kNumOps) {}
  void Add(const Rule& rule, const std::vector<ir::Op>& ops) {
    for (ir::Op op : ops) rules_[static_cast<int>(op)].push_back(rule);
  }
  const std::vector<Rule>& Of(ir::Op op) const { return rules_[static_cast<int>(op)]; }

 private:
  std::vector<std::vector<Rule>> rules_;
};

// Whether anything was changed.  Counts in context.rules_applied.
absl::StatusOr<bool> Rewrite(ir::Graph& graph, const RuleTable& table, PassContext& context);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_CANONICALIZE_REWRITER_H_
