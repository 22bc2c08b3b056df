// update_in_place: marks the updates in loops and choices that need write only the elements that
// they update.
//
//   before  %1: f32[t,n] = fusion(%acc, %row, %i) {kind = loop}      // a dynamic_update_slice
//   after   %1: f32[t,n] = fusion(%acc, %row, %i) {in_place = true, kind = loop}
//
// A turn that writes a row of an accumulator would otherwise write all of its rows.  Outside of
// regions an update happens once and is a kernel that copies on all threads.
//
// Of a variable that the graph updates (jit/ir/updates.h) only some rows may change: the result of
// a scatter or an update_rows lies where the old value does.
//
//   before  %1: f32[t,n] = fusion(%w, %i, %u) {kind = single}        // a scatter, %w updated
//   after   %1: f32[t,n] = fusion(%w, %i, %u) {in_place = true, kind = single}
//
// Such a kernel copies the operand itself where the result lies elsewhere after all.  What the mark
// says is that it need not be fast at that.

#include "jit/ir/control.h"
#include "jit/ir/in_place.h"
#include "jit/ir/updates.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

// A variable's value, or one that was written over it.
bool LiesInVariable(ir::Value v) {
  while (v.node->op() == ir::Op::kReshape) v = v.node->operand(0);
  return ir::IsUpdated(*v.node) ||
         (v.node->IsFusion(ir::FusionKind::kSingle) && v.node->Bool(ir::Attr::in_place));
}

// Whether every result is a variable of which some rows change.
bool ChangesRows(const ir::Node& fusion) {
  for (const ir::Value output : fusion.region().outputs()) {
    const ir::Op op = output.node->op();
    if (op != ir::Op::kScatter && op != ir::Op::kUpdateRows) return false;
    const ir::Node& old = *output.node->operand(output.index).node;
    if (old.op() != ir::Op::kParameter ||
        !LiesInVariable(fusion.operand(static_cast<int>(old.Int(ir::Attr::index))))) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> UpdateInPlace(ir::Graph& graph, PassContext&) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    if (!node->IsFusion(ir::FusionKind::kSingle) || node->Bool(ir::Attr::in_place) ||
        !ChangesRows(*node)) {
      continue;
    }
    node->attrs().Set(ir::Attr::in_place, true);
    changed = true;
  }
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
