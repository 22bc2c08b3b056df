#include "jit/passes/narrow_types.h"

#include <memory>
#include <utility>
#include <vector>

#include "jit/ops/contraction_axes.h"
#include "jit/passes/names.h"
#include "jit/passes/weight_layout.h"
#include "jit/target/schedules.h"

namespace tektite::passes {
namespace {

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
  auto region = std::make_unique<Graph>("product");
  const Value lhs = region->AddParameter(product.operand_shape(0).WithDType(types.lhs));
  const Value rhs = region->AddParameter(product.operand_shape(1).WithDType(types.rhs));
  ir::Attributes attrs = product.attrs();
  attrs.Set(Attr::dtype, types.sums);
  const ir::Shape result = product.shape().WithDType(types.sums);
  region->SetOutputs({region->Append(product.op(), {lhs, rhs}, attrs, {result})->result()});
  const bool is_stable = stable.contains(product.operand(1).node);
  for (const target::Offer& offer :
       OffersFor(std::move(region), is_stable, target::Facts().runs, context)) {
    if (!offer.schedule.ok()) continue;
    if (offer.implementation == target::kPairs) return true;
    if (offer.implementation == target::kGrouped) return context.target.MultipliesBytes();
    return offer.implementation == target::kStreamed && is_stable &&
           ComesFromMemory(product, context);
  }
  return false;
}

}  // namespace tektite::passes
