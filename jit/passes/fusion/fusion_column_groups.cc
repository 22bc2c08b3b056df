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
  Graph probe("probe");
  std::vector<Value> inside, outside, results;
  for (int i = 0; i < 2; ++i) {
    inside.push_back(region->AddParameter(product.operand_shape(i)));
    outside.push_back(probe.AddParameter(product.operand_shape(i)));
  }
  Node* const copy = region->Append(product.op(), inside, product.attrs(), {product.shape()});
  std::vector<Shape> shapes;
  for (const Node* slice : groups.slices) {
    shapes.push_back(slice->shape());
    results.push_back(
        region->Append(Op::kSlice, {copy->result()}, slice->attrs(), {shapes.back()})->result());
  }
  region->SetOutputs(results);
  Node* const fusion =
      probe.Append(Op::kFusion, outside, {{Attr::kind, FusionKind::kContraction}}, shapes);
  fusion->AddRegion(std::move(region));
  target::Facts facts;
  facts.is_supposed = true;
  facts.rhs_is_weights = PackableRhs(*fusion).has_value();
  facts.runs = RunsOfReaders(product.operand(1), context.in_loop);
  const std::vector<target::Offer> offers = context.schedules(*fusion, facts);
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
