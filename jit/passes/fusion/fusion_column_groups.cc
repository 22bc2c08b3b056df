// The part of fusion_groups.h for products whose columns are read in groups.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "jit/passes/fusion/fusion_groups.h"
#include "jit/passes/fusion/fusion_nodes.h"
#include "jit/passes/names.h"
#include "jit/passes/weight_layout.h"

namespace tektite::passes {
namespace {

// Whether the back end's first implementation of such a product is the one that streams panels of
// groups.
bool FusesColumnGroups(const Node& product, const ir::ColumnGroups& groups,
                       const PassContext& context) {
  auto region = std::make_unique<Graph>("product");
  const Value lhs = region->AddParameter(product.operand_shape(0));
  const Value rhs = region->AddParameter(product.operand_shape(1));
  const Value copy =
      region->Append(product.op(), {lhs, rhs}, product.attrs(), {product.shape()})->result();
  std::vector<Value> results;
  for (const Node* slice : groups.slices) {
    results.push_back(
        region->Append(Op::kSlice, {copy}, slice->attrs(), {slice->shape()})->result());
  }
  region->SetOutputs(results);
  const std::vector<target::Offer> offers =
      OffersFor(std::move(region), /*is_stable=*/true,
                RunsOfReaders(product.operand(1), context.in_loop), context);
  return !offers.empty() && offers.back().implementation == target::kStreamed &&
         offers.back().schedule.ok();
}

}  // namespace

void FusionGroups::FindColumnGroups() {
  if (!context_.schedules) return;
  for (Node* node : graph_.NodeList()) {
    // Only columns of packed weights lie together.
    if (node->op() != Op::kDotGeneral || stable_.count(node) > 0) continue;
    if (stable_.count(node->operand(1).node) == 0) continue;
    ir::ColumnGroups columns = ir::ColumnGroupsOf(*node);
    if (columns.count < 2 || !FusesColumnGroups(*node, columns, context_)) continue;
    column_readers_.insert(columns.slices.begin(), columns.slices.end());
    column_groups_.emplace_back(node, std::move(columns));
  }
}

// Whether the group computes place by place, in the space of a group of columns, and reads the
// product through `columns` alone.
bool FusionGroups::ReadsColumnsOnly(const FusionGroup& group,
                                    const ir::ColumnGroups& columns) const {
  if (group.kind != FusionKind::kLoop || group.updates || group.stable) return false;
  const Dims& space = columns.slices[0]->shape().dims();
  absl::flat_hash_set<const Node*> behind(columns.slices.begin(), columns.slices.end());
  for (const Node* node : group.nodes) {
    if (group.inner.count(node) == 0 && node->shape().dims() != space) return false;
    if (behind.count(node) > 0) continue;
    const bool follows = std::any_of(node->operands().begin(), node->operands().end(),
                                     [&](Value v) { return behind.count(SkipFree(v)) > 0; });
    if (follows) behind.insert(node);
    const bool moves = node->op() == Op::kSlice || IsRowOfTurn(*node);
    if (!ir::IsElementwise(node->op()) && (follows || !moves)) return false;
    if (follows && node->shape().dims() != space) return false;
  }
  return true;
}

void FusionGroups::MergeColumnReaders(Node* product, const ir::ColumnGroups& columns) {
  FusionGroup* const producer = GroupOf(product);
  FusionGroup* const consumer = GroupOf(columns.slices[0]);
  if (producer == nullptr || producer->kind != FusionKind::kContraction) return;
  for (const Node* slice : columns.slices) {
    if (GroupOf(slice) != consumer) return;
  }
  if (!ReadsColumnsOnly(*consumer, columns) || !OnlyUsedBy(*producer, *consumer)) return;
  if (producer->nodes.size() + consumer->nodes.size() > kMaxNodes) return;
  if (CreatesCycle(producer, consumer)) return;
  producer->inner.insert(producer->nodes.begin(), producer->nodes.end());
  producer->inner.insert(consumer->inner.begin(), consumer->inner.end());
  producer->space = consumer->space;
  Merge(consumer, producer);
}

}  // namespace tektite::passes
