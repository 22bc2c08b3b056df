#include "jit/passes/weight_layout.h"

#include "jit/ops/filter_gradient.h"
#include "jit/ops/ops.h"
#include "jit/passes/names.h"

namespace tektite::passes {

MatrixView RhsAsMatrix(const Node& root) {
  MatrixView view;
  if (root.op() == Op::kDotGeneral) {
    const ops::DotDims dims = ops::GetDotDimsInOrder(root);
    if (!dims.rhs_batch.empty()) return view;
    view.permutation = dims.rhs_contracting;
    view.k_dims = static_cast<int>(view.permutation.size());
    for (int64_t d : dims.rhs_free) view.permutation.push_back(d);
    view.valid = true;
    return view;
  }
  if (ops::IsFilterGradient(root)) return view;
  auto conv = ops::GetConvDims(root.operand_shape(0).rank(), root.attrs());
  if (!conv.ok() || conv->feature_groups != 1 || conv->batch_groups != 1) return view;
  for (int d : conv->kernel_spatial) view.permutation.push_back(d);
  view.permutation.push_back(conv->kernel_input);
  view.k_dims = static_cast<int>(view.permutation.size());
  view.permutation.push_back(conv->kernel_output);
  view.valid = true;
  return view;
}

std::optional<int> PackableRhs(const Node& fusion) {
  const Node* const root = ops::FindContraction(fusion.region());
  if (root == nullptr) return std::nullopt;
  const ir::Value rhs = root->operand(1);
  if (rhs.node->op() != Op::kParameter || !rhs.shape().is_static() ||
      rhs.shape().num_elements() == 0 || !RhsAsMatrix(*root).valid) {
    return std::nullopt;
  }
  return static_cast<int>(rhs.node->Int(ir::Attr::index));
}

}  // namespace tektite::passes
