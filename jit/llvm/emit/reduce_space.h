// The plan of a kernel of a reduction: which reductions it computes, over which space.
//
//   TEKTITE_ASSIGN_OR_RETURN(ReduceSpace plan, ReduceSpace::Create(region));
//   e.Emit(plan.reduces[0]->operand(0), plan.SpaceIndex(kept, reduced));
//
// Limits: all reductions of a region are over the same dimensions of one space, outputs are in the
// dimensions that stay, and nothing in the full space depends on a reduction.
#ifndef TEKTITE_JIT_LLVM_EMIT_REDUCE_SPACE_H_
#define TEKTITE_JIT_LLVM_EMIT_REDUCE_SPACE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "jit/ir/graph.h"
#include "jit/llvm/emit/element_emitter.h"

namespace tektite::loop {

struct ReduceSpace {
  // Unimplemented for any other kernel.
  static absl::StatusOr<ReduceSpace> Create(const ir::Graph& region);
  // An index into the space from its kept and its reduced parts.
  Indices SpaceIndex(const Indices& kept, const Indices& reduced_part) const;

  std::vector<const ir::Node*> reduces;
  ir::Dims space, kept_sizes, reduced_sizes;
  std::vector<bool> reduced;  // by dimension of the space
  bool inner_kept = false;
};

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_EMIT_REDUCE_SPACE_H_
