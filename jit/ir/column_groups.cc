#include "jit/ir/column_groups.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace tektite::ir {
namespace {

// Takes columns that begin at a multiple of their number, and all of every other dimension.
bool TakesGroup(const Node& slice) {
  const Dims &whole = slice.operand_shape(0).dims(), &taken = slice.shape().dims();
  const Dim& start = slice.attrs().GetDims(Attr::starts).back();
  const auto& strides = slice.Ints(Attr::strides);
  if (!std::equal(whole.begin(), whole.end() - 1, taken.begin())) return false;
  if (!strides.empty() && strides.back() != 1) return false;
  if (!whole.back().is_constant() || !taken.back().is_constant() || !start.is_constant()) {
    return false;
  }
  const int64_t columns = taken.back().value();
  return columns > 0 && whole.back().value() % columns == 0 && start.value() % columns == 0;
}

// The last dimension of its result is all columns of the right-hand side.
bool EndsWithColumns(const Node& node) {
  if (node.op() != Op::kDotGeneral) return false;
  const size_t others = node.Ints(Attr::rhs_contracting).size() + node.Ints(Attr::rhs_batch).size();
  return node.operand_shape(1).dims().size() == others + 1;
}

}  // namespace

int64_t ColumnGroups::GroupOf(const Node& slice) const {
  return slice.attrs().GetDims(Attr::starts).back().value() / columns;
}

ColumnGroups ColumnGroupsOf(const Node& product) {
  if (!EndsWithColumns(product)) return {};
  const Dims& dims = product.shape().dims();
  ColumnGroups groups;
  absl::flat_hash_set<const Node*> seen = {&product};
  std::vector<const Node*> left = {&product};
  while (!left.empty()) {
    const Node* const node = left.back();
    left.pop_back();
    if (node->IsOutput()) return {};
    for (const Use& use : node->uses()) {
      if (!seen.insert(use.user).second) continue;
      if (use.user->op() == Op::kSlice && TakesGroup(*use.user)) {
        groups.slices.push_back(use.user);
      } else if (IsElementwise(use.user->op()) && use.user->shape().dims() == dims) {
        left.push_back(use.user);
      } else {
        return {};
      }
    }
  }
  if (groups.slices.empty()) return {};
  groups.columns = groups.slices[0]->shape().dims().back().value();
  for (const Node* slice : groups.slices) {
    if (slice->shape().dims().back() != Dim(groups.columns)) return {};
  }
  groups.count = dims.back().value() / groups.columns;
  if (groups.count < 2 || groups.count > kMaxColumnGroups) return {};
  return groups;
}

}  // namespace tektite::ir
