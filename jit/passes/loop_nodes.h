// What the passes over loops do to a `while` node.
//
//   Value outside = ...;                                  // computed before the loop
//   Value inside = AddInvariant(loop, outside.shape(), &added);
//   added.push_back(outside);
//   loop = WithOperands(graph, loop, added);              // a new node in the old one's place
//
// Limits: an operand cannot be added to a node, so the loop is built anew.
#ifndef TEKTITE_JIT_PASSES_LOOP_NODES_H_
#define TEKTITE_JIT_PASSES_LOOP_NODES_H_

#include <vector>

#include "absl/types/span.h"
#include "jit/ir/graph.h"

namespace tektite::passes {

inline ir::Graph& Condition(const ir::Node& loop) { return loop.region(0); }
inline ir::Graph& Body(const ir::Node& loop) { return loop.region(1); }

// Parameters of both regions and an output of the body for a value that the loop only reads; the
// body's parameter.  The loop is whole again after WithOperands.
ir::Value AddInvariant(ir::Node& loop, const ir::Shape& shape);

// The loop with these operands behind its own, in its place; its regions have parameters for them.
ir::Node* WithOperands(ir::Graph& graph, ir::Node* loop, absl::Span<const ir::Value> added);

// The loop without the carried values for which `keep` is false: nothing reads their results, and
// in the regions only their own outputs depend on them.
ir::Node* WithoutCarried(ir::Graph& graph, ir::Node* loop, const std::vector<bool>& keep);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_LOOP_NODES_H_
