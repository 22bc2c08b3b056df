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
// So does that of a turn, where the loop carries the old value.  Such a kernel copies the operand
// itself where the result lies elsewhere after all.  What the mark says is that it need not be fast
// at that.

#include "jit/ir/control.h"
#include "jit/ir/in_place.h"
#include "jit/ir/updates.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

// A variable's value, a carried one in a turn, or one that was written over it.
bool LiesInVariable(ir::Value v, bool in_turn) {
  while (v.node->op() == ir::Op::kReshape) v = v.node->operand(0);
  return ir::IsUpdated(*v.node) || (in_turn && v.node->op() == ir::Op::kParameter) ||
         (v.node->IsFusion(ir::FusionKind::kSingle) && v.node->Bool(ir::Attr::in_place));
}

// Whether every result is a variable, or a carried value, of which some rows change.
bool ChangesRows(const ir::Node& fusion, bool in_turn) {
  for (const ir::Value output : fusion.region().outputs()) {
    const ir::Op op = output.node->op();
    if (op != ir::Op::kScatter && op != ir::Op::kUpdateRows) return false;
    const ir::Node& old = *output.node->operand(output.index).node;
    if (old.op() != ir::Op::kParameter ||
        !LiesInVariable(fusion.operand(static_cast<int>(old.Int(ir::Attr::index))), in_turn)) {
      return false;
    }
  }
  return true;
}

bool MarkRowUpdates(ir::Graph& graph, bool in_turn) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    if (!node->IsFusion(ir::FusionKind::kSingle) || node->Bool(ir::Attr::in_place) ||
        !ChangesRows(*node, in_turn)) {
      continue;
    }
    node->attrs().Set(ir::Attr::in_place, true);
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> UpdateInPlace(ir::Graph& graph, PassContext&) {
  bool changed = MarkRowUpdates(graph, /*in_turn=*/false);
  for (const auto& control : graph.nodes()) {
    if (!ir::IsControl(*control)) continue;
    if (control->op() == ir::Op::kWhile) {
      changed |= MarkRowUpdates(control->region(1), /*in_turn=*/true);
    }
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
