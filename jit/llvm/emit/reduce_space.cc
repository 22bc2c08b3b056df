#include "jit/llvm/emit/reduce_space.h"

#include "jit/base/status.h"

namespace tektite::loop {

using ir::Attr;
using ir::Dim;
using ir::Node;
using ir::Op;

absl::StatusOr<ReduceSpace> ReduceSpace::Create(const ir::Graph& region) {
  ReduceSpace plan;
  for (const auto& node : region.nodes()) {
    if (node->op() != Op::kReduce) continue;
    if (node->num_regions() > 0) return Unimplemented(node->Describe(), ": by a region");
    std::vector<bool> reduced(node->operand_shape(0).rank(), false);
    for (int64_t d : node->Ints(Attr::dimensions)) reduced[d] = true;
    if (plan.reduces.empty()) {
      plan.space = node->operand_shape(0).dims();
      plan.kept_sizes = node->shape().dims();
      plan.reduced = reduced;
    } else if (plan.space != node->operand_shape(0).dims() || plan.reduced != reduced) {
      return Unimplemented("reductions over different spaces in one fusion");
    }
    plan.reduces.push_back(node.get());
  }
  if (plan.reduces.empty()) return Unimplemented("a reduce fusion without a reduction");
  for (const Node* a : plan.reduces) {
    for (const auto& node : region.nodes()) {
      // A value in the full space after a reduction would need a second sweep.
      if (node->shape().dims() != plan.space || Product(plan.space) == Dim(0)) continue;
      for (ir::Value v : node->operands()) {
        if (v.node == a) return Unimplemented("a reduction that feeds its own space");
      }
    }
  }
  for (ir::Value v : region.outputs()) {
    if (v.shape().dims() != plan.kept_sizes) {
      return Unimplemented("an output of a reduction in another space");
    }
  }
  for (size_t i = 0; i < plan.space.size(); ++i) {
    if (plan.reduced[i]) plan.reduced_sizes.push_back(plan.space[i]);
  }
  plan.inner_kept = !plan.reduced.empty() && !plan.reduced.back();
  return plan;
}

Indices ReduceSpace::SpaceIndex(const Indices& kept, const Indices& reduced_part) const {
  Indices at;
  size_t k = 0, r = 0;
  for (bool is_reduced : reduced) at.push_back(is_reduced ? reduced_part[r++] : kept[k++]);
  return at;
}

}  // namespace tektite::loop
