// The part of fusion_groups.h for products whose columns are read in groups.
#include <algorithm>
#include <utility>

#include "jit/passes/fusion_groups.h"
#include "jit/passes/fusion_nodes.h"

namespace tektite::passes {

using ir::FusionKind;
using ir::Node;
using ir::Op;
using ir::Value;

void FusionGroups::FindColumnGroups() {
  if (!context_.fuses_column_groups) return;
  for (Node* node : graph_.NodeList()) {
    // Only columns of packed weights lie together.
    if (node->op() != Op::kDotGeneral || stable_.count(node) > 0) continue;
    if (stable_.count(node->operand(1).node) == 0) continue;
    ir::ColumnGroups columns = ir::ColumnGroupsOf(*node);
    const int64_t runs = RunsOfReaders(node->operand(1), context_.in_loop);
    if (columns.count < 2 || !context_.fuses_column_groups(*node, columns.count, runs)) continue;
    column_readers_.insert(columns.slices.begin(), columns.slices.end());
    column_groups_.emplace_back(node, std::move(columns));
  }
}

// Whether the group computes place by place, in the space of a group of columns, and reads the
// product through `columns` alone.
bool FusionGroups::ReadsColumnsOnly(const FusionGroup& group,
                                    const ir::ColumnGroups& columns) const {
  if (group.kind != FusionKind::kLoop || group.updates || group.stable) return false;
  if (group.space != Squeezed(columns.slices[0]->shape())) return false;
  absl::flat_hash_set<const Node*> behind(columns.slices.begin(), columns.slices.end());
  for (const Node* node : group.nodes) {
    if (behind.count(node) > 0) continue;
    const bool follows = std::any_of(node->operands().begin(), node->operands().end(),
                                     [&](Value v) { return behind.count(SkipFree(v)) > 0; });
    if (follows) behind.insert(node);
    const bool moves = node->op() == Op::kSlice || IsRowOfTurn(*node);
    if (!ir::IsElementwise(node->op()) && (follows || !moves)) return false;
    if (follows && Squeezed(node->shape()) != group.space) return false;
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
