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
// canonicalize/, and so is what applies them (rewriter.h).
#include <algorithm>
#include <vector>

#include "absl/strings/str_split.h"
#include "jit/passes/canonicalize/rewriter.h"
#include "jit/passes/canonicalize/rules.h"
#include "jit/passes/names.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

// The ops that a row of the rule list names: one op, or all elementwise ones.
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

// All of the list but the rules named in the flag disable_passes.
RuleTable EnabledRules(absl::string_view disabled) {
  const std::vector<absl::string_view> without = absl::StrSplit(disabled, ',');
  RuleTable table;
  const auto add = [&](const Rule& rule, std::initializer_list<OpSet> sets) {
    if (std::find(without.begin(), without.end(), rule.name) != without.end()) return;
    for (const OpSet& set : sets) table.Add(rule, set.ops);
  };
#define TEKTITE_RULE(function, ...) add({#function, &rules::function}, {__VA_ARGS__});
#include "jit/passes/canonicalize/rule_list.inc"
#undef TEKTITE_RULE
  return table;
}

}  // namespace

absl::StatusOr<bool> Canonicalize(ir::Graph& graph, PassContext& context) {
  return Rewrite(graph, EnabledRules(context.flags.disable_passes), context);
}

}  // namespace tektite::passes
