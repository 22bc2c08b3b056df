#include "jit/passes/weight_layout.h"

#include <utility>

#include "jit/ops/contraction_axes.h"
#include "jit/ops/filter_gradient.h"
#include "jit/passes/names.h"

namespace tektite::passes {

MatrixView RhsAsMatrix(const Node& root) {
  MatrixView view;
  const auto axes = ops::GetContractionAxes(root);
  if (!axes.ok() || !axes->batch.empty() || ops::IsFilterGradient(root)) return view;
  for (const ops::ContractionAxis& axis : axes->k) view.permutation.push_back(axis.rhs);
  view.k_dims = static_cast<int>(view.permutation.size());
  for (const ops::ContractionAxis& axis : axes->n) view.permutation.push_back(axis.rhs);
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

std::vector<target::Offer> OffersFor(std::unique_ptr<Graph> region, bool is_stable, int64_t runs,
                                     const PassContext& context) {
  if (!context.schedules) return {};
  Graph probe("probe");
  std::vector<Value> operands;
  for (const Node* parameter : region->parameters()) {
    operands.push_back(probe.AddParameter(parameter->shape()));
  }
  Node* const fusion =
      probe.AppendFusion(operands, {{Attr::kind, FusionKind::kContraction}}, std::move(region));
  target::Facts facts;
  facts.is_supposed = true;
  facts.rhs_is_weights = is_stable && PackableRhs(*fusion).has_value();
  facts.runs = runs;
  return context.schedules(*fusion, facts);
}

}  // namespace tektite::passes
