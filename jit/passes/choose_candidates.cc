// choose_candidates: says of each contraction, and of attention, how its kernel is made, where
// measuring has shown it.
//
//   before  fusion(%x, %w) {kind = contraction}
//   after   fusion(%x, %w) {kind = contraction, target = "2x12"}
//
// Before assign_layouts, since the panels that weights are packed into depend on it.  The choice is
// an attribute of the fusion, and thereby part of the key its kernel is kept under.  A contraction
// that is chosen to stand alone leaves its epilogue to a fusion of its own, and a filter that has
// to be stored by features is transposed by one.

#include <string>

#include "absl/container/flat_hash_set.h"
#include "jit/base/status.h"
#include "jit/ops/ops.h"
#include "jit/passes/fusion_groups.h"
#include "jit/passes/pass.h"
#include "jit/passes/split_epilogue.h"
#include "jit/passes/store_features_first.h"

namespace tektite::passes {
namespace {

using ir::Attr;
using ir::Graph;
using ir::Node;
using ir::Op;

using StableSet = absl::flat_hash_set<const Node*>;

bool PacksRhs(const StableSet& stable, const Node& fusion) {
  const Node* const contraction = ops::FindContraction(fusion.region());
  if (contraction == nullptr) return false;
  const Node* const rhs = contraction->operand(1).node;
  return rhs->op() == Op::kParameter &&
         stable.count(fusion.operand(static_cast<int>(rhs->Int(Attr::index))).node) > 0;
}

}  // namespace

absl::StatusOr<bool> ChooseCandidates(Graph& graph, PassContext& context) {
  if (!context.choose_candidate) return false;
  bool changed = false;
  const StableSet stable = StableNodes(graph);
  for (Node* fusion : graph.NodeList()) {
    if (!fusion->IsFusion(ir::FusionKind::kContraction) &&
        !fusion->IsFusion(ir::FusionKind::kAttention)) {
      continue;
    }
    const std::string chosen = context.choose_candidate(*fusion, PacksRhs(stable, *fusion));
    if (chosen.empty()) continue;
    Node* target = fusion;
    if (context.stands_alone && context.stands_alone(chosen)) target = SplitEpilogue(graph, fusion);
    if (target == nullptr) continue;
    if (context.reads_features_first && context.reads_features_first(chosen)) {
      TEKTITE_ASSIGN_OR_RETURN(target, StoreFeaturesFirst(graph, target));
    }
    target->attrs().Set(Attr::target, chosen);
    changed = true;
  }
  return changed;
}

}  // namespace tektite::passes
