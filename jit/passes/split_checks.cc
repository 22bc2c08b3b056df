// split_checks: gives the checks of a loop that updates variables a loop of their own, before it.
//
//   before  %l:3 = while(%i, %w, %ok)      body: %i + 1, scatter(%w, f(%i), %u), %ok & %i < %n
//           return %l#2, %l#1              a check, and the new value of %w
//   after   %c:2 = while(%i, %ok)          body: %i + 1, %ok & %i < %n
//           %l:3 = while(%i, %w, %ok)      as before
//           return %c#1, %l#1
//
// A call changes no variable before the last check that may fail (jit/runtime/buffer_plan.h).  A
// loop that does both can only change a copy: of a table of which its turns change some rows, the
// copies take longer than the turns.  With checks that come before it, it writes where the variable
// lies.  A turn that fails a check ends either loop; then the second one does not run at all.
//
// Limits: checks that need the variable's value or more work than kMostElements a turn stay where
// they are, as do those of a loop in a loop.
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "jit/ir/updates.h"
#include "jit/passes/loop_nodes.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Op;
using ir::Value;

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

bool HasAny(const std::vector<bool>& a, const std::vector<bool>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] && b[i]) return true;
  }
  return false;
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

// Whether the turns of a loop with these carried values alone would be little work.
bool IsCheap(const Node& loop, const std::vector<bool>& carried) {
  std::vector<const Node*> left;
  for (size_t i = 0; i < carried.size(); ++i) {
    if (carried[i]) left.push_back(Body(loop).outputs()[i].node);
  }
  absl::flat_hash_set<const Node*> seen;
  int64_t elements = 0;
  while (!left.empty()) {
    const Node* const node = left.back();
    left.pop_back();
    if (!seen.insert(node).second || node->op() == Op::kParameter) continue;
    if (!IsSimple(*node)) return false;
    if (node->op() != Op::kConstant) {
      elements += node->shape().NumElements().value_or(kUnknownElements);
    }
    if (elements > kMostElements) return false;
    for (const Value operand : node->operands()) left.push_back(operand.node);
  }
  return true;
}

bool Split(Graph& graph, Node* loop) {
  const std::vector<bool> updates = Updates(graph, *loop);
  const std::vector<bool> checks = Checks(*loop, updates);
  if (!HasAny(updates, updates) || !HasAny(checks, checks)) return false;
  const std::vector<bool> needed = NeededFor(*loop, checks);
  if (HasAny(needed, updates) || !IsCheap(*loop, needed)) return false;
  Node* const copy = CopyOf(graph, loop);
  for (int i = 0; i < loop->num_results(); ++i) {
    if (checks[i]) graph.ReplaceAllUses(loop->result(i), copy->result(i));
  }
  WithoutCarried(graph, copy, needed);
  return true;
}

}  // namespace

absl::StatusOr<bool> SplitChecks(Graph& graph, PassContext&) {
  bool changed = false;
  for (Node* node : graph.NodeList()) {
    if (node->op() == Op::kWhile) changed |= Split(graph, node);
  }
  return changed;
}

}  // namespace tektite::passes
