// choose_schedules: decides how the kernel of each fusion is made.
//
//   before  fusion(%x, %w) {kind = contraction}
//   after   fusion(%x, %w) {kind = contraction, schedule = "own, tile = 3x8, columns = 48"}
//
// The target's list of implementations is asked once (jit/target/schedules.h), and the first that
// fits is kept.  Later passes and the back end read the attribute, which is part of the key that
// the kernel is kept under.  A contraction that has to stand alone leaves its epilogue to a fusion
// of its own, and a filter that has to be stored by features is transposed by one.
//
// Nothing is written where a target has one way to make a kernel.
//
// Limits: fusions that are made after this pass, such as those that pack weights, have no schedule;
// the first implementation that fits compiles them.
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "jit/base/status.h"
#include "jit/passes/apply_schedule.h"
#include "jit/passes/fusion/fusion_groups.h"
#include "jit/passes/fusion/fusion_nodes.h"
#include "jit/passes/names.h"
#include "jit/passes/pass.h"
#include "jit/passes/weight_layout.h"

namespace tektite::passes {
namespace {

class FactsOfGraph {
 public:
  FactsOfGraph(const Graph& graph, const PassContext& context)
      : context_(context), stable_(StableNodes(graph)) {}

  target::Facts Of(const Node& fusion) {
    target::Facts facts;
    facts.alternatives = context_.alternatives;
    const std::optional<int> operand = PackableRhs(fusion);
    // What depends on weights alone runs once, and would read the panels once.
    if (!operand || stable_.contains(&fusion)) return facts;
    const Value rhs = fusion.operand(*operand);
    if (!stable_.contains(rhs.node)) return facts;
    facts.rhs_is_weights = true;
    const auto [runs, is_first] = runs_.try_emplace(rhs, 0);
    if (is_first) runs->second = RunsOfReaders(rhs, context_.in_loop);
    facts.runs = runs->second;
    return facts;
  }

 private:
  const PassContext& context_;
  const absl::flat_hash_set<const Node*> stable_;
  absl::flat_hash_map<Value, int64_t> runs_;  // of the readers of weights
};

}  // namespace

absl::StatusOr<bool> ChooseSchedules(Graph& graph, PassContext& context) {
  if (!context.schedules) return false;
  bool changed = false;
  FactsOfGraph facts(graph, context);
  for (Node* fusion : graph.NodeList()) {
    if (fusion->op() != ir::Op::kFusion || fusion->attrs().Has(Attr::schedule)) continue;
    const std::vector<target::Offer> offers = context.schedules(*fusion, facts.Of(*fusion));
    for (const target::Offer& offer : offers) {
      if (!offer.schedule.ok()) continue;
      if (offers.size() == 1 && *offer.schedule == target::Schedule()) break;
      TEKTITE_ASSIGN_OR_RETURN(const Node* const scheduled,
                               ApplySchedule(graph, fusion, *offer.schedule));
      if (scheduled == nullptr) continue;
      changed = true;
      break;
    }
  }
  return changed;
}

}  // namespace tektite::passes
