// What results of loops and choices depend on, through the loops and choices inside them.
//
//   %l:3 = while(%i, %w, %ok)    body: (%i, %w, %ok) -> %i + 1, scatter(%w, f(%i)), %ok & %i < %n
//   NeededValues().ForResults(l, {false, false, true})   // {true, false, true}: %i and %ok
//
// Why: a node with regions has many results, and one of them mostly needs a part of the operands.
// Limits: the graphs must not change while an object is asked, which keeps what it has found.
#ifndef TEKTITE_JIT_PASSES_LOOPS_NEEDED_VALUES_H_
#define TEKTITE_JIT_PASSES_LOOPS_NEEDED_VALUES_H_

#include <vector>

#include "absl/container/node_hash_map.h"
#include "jit/ir/graph.h"

namespace tektite::passes {

class NeededValues {
 public:
  // Of a loop or a choice: by operand, whether those results for which `read` is true depend on it.
  // A loop's depend on what its condition depends on, a choice's on what chooses.
  std::vector<bool> ForResults(const ir::Node& control, const std::vector<bool>& read);

  // The operands that a value depends on at once: all of its node's, or those of a loop or a choice
  // that its result needs.
  std::vector<ir::Value> Operands(ir::Value value);

 private:
  // By output, by parameter: whether the output depends on it.
  using Region = std::vector<std::vector<bool>>;

  const Region& Of(const ir::Graph& region);
  std::vector<bool> ParametersOf(const ir::Graph& region, ir::Value output);

  absl::node_hash_map<const ir::Graph*, Region> regions_;
};

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_LOOPS_NEEDED_VALUES_H_
