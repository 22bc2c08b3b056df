// split_checks: gives the checks of a loop that updates variables a loop of their own, before it.
//
//   before  %l:3 = while(%i, %w, %ok)      body: %i + 1, scatter(%w, f(%i), %u), %ok & %i < %n
//           return %l#2, %l#1              a check, and the new value of %w
//   after   %c:2 = while(%i, %ok)          body: %i + 1, %ok & %i < %n
//           %l:3 = while(%i, %w, %ok)      as before
//           return %c#1, %l#1
//
// A call changes no variable before the last check that may fail
// (jit/runtime/memory/buffer_assignment.h).  A loop that does both can only change a copy: of a
// table of which its turns change some rows, the copies take longer than the turns.  With checks
// that come before it, it writes where the variable lies.  A turn that fails a check ends either
// loop; then the second one does not run at all.
//
// The copy has of loops and choices inside what the checks need of them:
//
//   before  %o:3 = while(%e, %w, %ok)      body: %l:3 = while(0, %w, true) as above
//                                                %e + 1, %l#1, %ok & %l#2
//   copy    %c:2 = while(%e, %ok)          body: %m:2 = while(0, true)
//                                                %e + 1, %ok & %m#1
//
// A choice that holds such a loop is split in the same way.  (Ten turns round a hundred of 16 rows
// of f32[100000,64]: 3.3 ms became 0.26.)
//
// Limits: checks that need the variable's value or more work than kMostElements a turn stay where
// they are.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "jit/ir/control.h"
#include "jit/ir/updates.h"
#include "jit/passes/loops/loop_nodes.h"
#include "jit/passes/loops/needed_values.h"
#include "jit/passes/names.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

// Elements that the checks of a turn may compute; values of unknown size count as some.
constexpr int64_t kMostElements = 1 << 16;
constexpr int64_t kUnknownElements = 1 << 10;

Value BeforeReshapes(Value v) {
  while (v.node->op() == Op::kReshape) v = v.node->operand(0);
  return v;
}

// By result of the loop: whether it is a variable's new value.
std::vector<bool> Updates(const Graph& graph, const Node& loop) {
  int updated = 0;
  for (int i = 0; i < graph.num_parameters(); ++i) updated += ir::IsUpdated(*graph.parameter(i));
  const auto outputs = graph.outputs();
  std::vector<bool> updates(loop.num_results());
  for (size_t k = outputs.size() - updated; k < outputs.size(); ++k) {
    const Value v = BeforeReshapes(outputs[k]);
    if (v.node == &loop) updates[v.index] = true;
  }
  return updates;
}

std::vector<bool> Checks(const Node& loop, const std::vector<bool>& updates) {
  std::vector<bool> checks(loop.num_results());
  for (int i = 0; i < loop.num_results(); ++i) {
    checks[i] = !updates[i] && loop.shape(i).dtype() == ir::DType::kBool &&
                loop.shape(i).rank() == 0 && (!loop.uses(i).empty() || loop.IsOutput(i));
  }
  return checks;
}

bool HasAny(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

// Ops whose results tell how much work they are.
bool IsSimple(const Node& node) {
  switch (node.op()) {
    case Op::kBroadcastInDim:
    case Op::kConcatenate:
    case Op::kConstant:
    case Op::kConvert:
    case Op::kDynamicSlice:
    case Op::kGather:
    case Op::kIota:
    case Op::kPad:
    case Op::kParameter:
    case Op::kReduce:
    case Op::kReshape:
    case Op::kSlice:
    case Op::kTranspose:
      return true;
    default:
      return ir::IsElementwise(node.op());
  }
}

bool IsCheap(const Node& control, const std::vector<bool>& read, NeededValues* values);

// Whether these outputs alone would be little work.
bool IsCheapIn(const Graph& region, const std::vector<bool>& read, NeededValues* values) {
  std::vector<Value> left;
  for (size_t i = 0; i < read.size(); ++i) {
    if (read[i]) left.push_back(region.outputs()[i]);
  }
  absl::flat_hash_set<std::pair<const Node*, int>> seen;
  int64_t elements = 0;
  while (!left.empty()) {
    const Value value = left.back();
    left.pop_back();
    const Node& node = *value.node;
    if (!seen.insert({&node, ir::IsControl(node) ? value.index : 0}).second) continue;
    if (ir::IsControl(node)) {
      std::vector<bool> result(node.num_results());
      result[value.index] = true;
      if (!IsCheap(node, result, values)) return false;
    } else if (node.op() != Op::kParameter) {
      if (!IsSimple(node)) return false;
      if (node.op() != Op::kConstant) {
        elements += node.shape().NumElements().value_or(kUnknownElements);
      }
      if (elements > kMostElements) return false;
    }
    for (const Value operand : values->Operands(value)) left.push_back(operand);
  }
  return true;
}

// Whether a turn of a loop, or a choice, for these results alone would be little work.
bool IsCheap(const Node& control, const std::vector<bool>& read, NeededValues* values) {
  if (control.op() == Op::kWhile) {
    return IsCheapIn(Body(control), values->ForResults(control, read), values);
  }
  for (int r = 0; r < control.num_regions(); ++r) {
    if (!IsCheapIn(control.region(r), read, values)) return false;
  }
  return true;
}

// Whether results need the value of a variable that the node updates.
bool NeedUpdated(const Node& control, const std::vector<bool>& needed,
                 const std::vector<bool>& updates) {
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    // Operands of a loop are its results' first values.
    const int operand = static_cast<int>(i);
    if (control.op() == Op::kWhile
            ? updates[i]
            : ir::IsUpdated(*BeforeReshapes(control.operand(operand)).node)) {
      return true;
    }
  }
  return false;
}

// A choice without loops updates its variable once, which is what a copy costs.
bool HoldsLoops(const Node& control) {
  if (control.op() == Op::kWhile) return true;
  for (int r = 0; r < control.num_regions(); ++r) {
    for (const auto& node : control.region(r).nodes()) {
      if (ir::IsControl(*node) && HoldsLoops(*node)) return true;
    }
  }
  return false;
}

bool Split(Graph& graph, Node* control) {
  if (!HoldsLoops(*control)) return false;
  const std::vector<bool> updates = Updates(graph, *control);
  const std::vector<bool> checks = Checks(*control, updates);
  if (!HasAny(updates) || !HasAny(checks)) return false;
  NeededValues values;
  if (NeedUpdated(*control, values.ForResults(*control, checks), updates) ||
      !IsCheap(*control, checks, &values)) {
    return false;
  }
  Node* const copy = CopyOf(graph, control);
  for (int i = 0; i < control->num_results(); ++i) {
    if (checks[i]) graph.ReplaceAllUses(control->result(i), copy->result(i));
  }
  Narrowed(graph, copy, checks);
  if (control->op() == Op::kConditional) Narrowed(graph, control, ReadResults(*control));
  return true;
}

}  // namespace

absl::StatusOr<bool> SplitChecks(Graph& graph, PassContext&) {
  bool changed = false;
  for (Node* node : graph.NodeList()) {
    if (ir::IsControl(*node)) changed |= Split(graph, node);
  }
  return changed;
}

}  // namespace tektite::passes
