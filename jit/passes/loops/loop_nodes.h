// Edits of a `while` node, and of a `conditional` inside one, for the passes over loops.
//
//   Value outside = ...;                                  // computed before the loop
//   Value inside = AddInvariant(loop, outside.shape(), &added);
//   added.push_back(outside);
//   loop = WithOperands(graph, loop, added);              // a new node in the old one's place
//
// Limits: an operand cannot be added to a node, so the loop is built anew.
#ifndef TEKTITE_JIT_PASSES_LOOPS_LOOP_NODES_H_
#define TEKTITE_JIT_PASSES_LOOPS_LOOP_NODES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "jit/ir/control.h"
#include "jit/ir/graph.h"

namespace tektite::passes {

inline ir::Graph& Condition(const ir::Node& loop) { return loop.region(0); }
inline ir::Graph& Body(const ir::Node& loop) { return loop.region(1); }

// Whether a value of the body is a parameter that is the same in every turn.
inline bool IsInvariantParameter(const ir::Node& loop, ir::Value v) {
  return v.node->op() == ir::Op::kParameter &&
         ir::IsInvariant(loop, static_cast<int>(v.node->Int(ir::Attr::index)));
}

// Parameters of both regions and an output of the body for a value that the loop only reads; the
// body's parameter.  The loop is whole again after WithOperands.
ir::Value AddInvariant(ir::Node& loop, const ir::Shape& shape);

// The loop with these operands behind its own, in its place; its regions have parameters for them.
ir::Node* WithOperands(ir::Graph& graph, ir::Node* loop, absl::Span<const ir::Value> added);

// Passes keep values of all turns at once up to this size; memory must not grow without bound.
inline constexpr int64_t kMostBytesOfTurns = 256 << 20;

// By result of a loop or a choice: whether anything reads it.
std::vector<bool> ReadResults(const ir::Node& control);

// The same loop, or the same choice, once more, before it.
ir::Node* CopyOf(ir::Graph& graph, ir::Node* control);

// The integer constant that each turn adds to a carried value; nothing for any other change.
std::optional<int64_t> StepOf(const ir::Node& loop, int carried);

// How often a loop turns, and the carried value that tells its turns apart.
//   condition: and(compare(%i, 7) lt, %go)  body: add(%i, 1)  %i from 2   // {carried i, 2, 1, 5}
struct Turns {
  int counter;
  int64_t first;  // the counter in the first turn
  int64_t step;   // 1 or -1
  int64_t most;   // the loop may end before; at least 1
};
// Nothing where no constants say it.
std::optional<Turns> TurnsOf(const ir::Node& loop);

// The loop without the carried values for which `keep` is false: nothing reads their results, and
// in the regions only their own outputs depend on them (NeededValues).
ir::Node* WithoutCarried(ir::Graph& graph, ir::Node* loop, const std::vector<bool>& keep);

// The loop or the choice with what these results need alone, also of the loops and choices inside
// it: nothing reads its other results.
ir::Node* Narrowed(ir::Graph& graph, ir::Node* control, const std::vector<bool>& read);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_LOOPS_LOOP_NODES_H_
