// update_in_place: marks the updates in loops and choices that need write only the elements that
// they update.
//
//   before  %1: f32[t,n] = fusion(%acc, %row, %i) {kind = loop}      // a dynamic_update_slice
//   after   %1: f32[t,n] = fusion(%acc, %row, %i) {in_place = true, kind = loop}
//
// A turn that writes a row of an accumulator would otherwise write all of its rows.  Outside of
// regions an update happens once and is a kernel that copies on all threads.

#include "jit/ir/control.h"
#include "jit/ir/in_place.h"
#include "jit/passes/pass.h"

namespace tektite::passes {

absl::StatusOr<bool> UpdateInPlace(ir::Graph& graph, PassContext&) {
  bool changed = false;
  for (const auto& control : graph.nodes()) {
    if (!ir::IsControl(*control)) continue;
    for (int r = 0; r < control->num_regions(); ++r) {
      for (const auto& node : control->region(r).nodes()) {
        if (!node->IsFusion(ir::FusionKind::kLoop) || node->Bool(ir::Attr::in_place) ||
            node->num_results() != 1 || ir::FindUpdatedOperand(*node, 0) < 0) {
          continue;
        }
        node->attrs().Set(ir::Attr::in_place, true);
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace tektite::passes
