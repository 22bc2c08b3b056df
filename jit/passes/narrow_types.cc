#include "jit/passes/narrow_types.h"

#include <memory>
#include <utility>
#include <vector>

#include "jit/ops/contraction_axes.h"
#include "jit/passes/weight_layout.h"
#include "jit/target/schedules.h"

namespace tektite::passes {
namespace {

using ir::Attr;
using ir::Graph;
using ir::Node;
using ir::Op;
using ir::Value;

// Weights that do not stay in caches: of few rows in a narrow type, less memory is read.
bool ComesFromMemory(const Node& product, const PassContext& context) {
  const ir::Shape& weights = product.operand_shape(1);
  const int64_t bytes = ir::DTypeBytes(weights.dtype());
  return ir::Product(weights.dims()).value_or(0) * bytes >= context.target.l2_bytes;
}

}  // namespace

bool IsProduct(const Node& node) {
  return node.op() == Op::kDotGeneral || node.op() == Op::kConvolution;
}

bool IsMoved(const Node& node) { return node.op() == Op::kReshape || node.op() == Op::kTranspose; }

std::optional<int64_t> TermsOf(const Node& product) {
  const auto axes = ops::GetContractionAxes(product);
  if (!axes.ok()) return std::nullopt;
  const ir::Dim terms = ops::SizeOf(axes->k);
  return terms.is_constant() ? std::make_optional(terms.value()) : std::nullopt;
}

bool MultipliesFaster(const Node& product, const ProductTypes& types,
                      const absl::flat_hash_set<const Node*>& stable, const PassContext& context) {
  if (!context.schedules) return false;
  auto region = std::make_unique<Graph>("product");
  Graph probe("probe");
  std::vector<Value> inside, outside;
  for (int i = 0; i < 2; ++i) {
    const ir::Shape shape = product.operand_shape(i).WithDType(i == 0 ? types.lhs : types.rhs);
    inside.push_back(region->AddParameter(shape));
    outside.push_back(probe.AddParameter(shape));
  }
  ir::Attributes attrs = product.attrs();
  attrs.Set(Attr::dtype, types.sums);
  const ir::Shape result = product.shape().WithDType(types.sums);
  region->SetOutputs({region->Append(product.op(), inside, attrs, {result})->result()});
  Node* const fusion =
      probe.Append(Op::kFusion, outside, {{Attr::kind, ir::FusionKind::kContraction}}, {result});
  fusion->AddRegion(std::move(region));
  target::Facts facts;
  facts.is_supposed = true;
  facts.rhs_is_weights =
      stable.contains(product.operand(1).node) && PackableRhs(*fusion).has_value();
  for (const target::Offer& offer : context.schedules(*fusion, facts)) {
    if (!offer.schedule.ok()) continue;
    if (offer.implementation == target::kPairs) return true;
    if (offer.implementation == target::kGrouped) return context.target.has_int8_dot;
    return offer.implementation == target::kStreamed && stable.contains(product.operand(1).node) &&
           ComesFromMemory(product, context);
  }
  return false;
}

}  // namespace tektite::passes
