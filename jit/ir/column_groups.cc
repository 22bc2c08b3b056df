#include "jit/ir/column_groups.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace tektite::ir {
namespace {

// Takes columns that begin at a multiple of their number, and all of every other dimension.
bool TakesGroup(const Node& slice) {
  const Dims &whole = slice.operand_shape(0).dims(), &taken = slice.shape().dims();
  const Dims& starts = slice.attrs().GetDims(Attr::starts);
  const auto& strides = slice.Ints(Attr::strides);
  const size_t last = whole.size() - 1;
  if (!std::equal(whole.begin(), whole.end() - 1, taken.begin())) return false;
  if (!strides.empty() && strides[last] != 1) return false;
  if (!whole[last].is_constant() || !taken[last].is_constant() || !starts[last].is_constant()) {
    return false;
  }
  const int64_t columns = taken[last].value();
  return columns > 0 && whole[last].value() % columns == 0 && starts[last].value() % columns == 0;
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
      Node* const user = use.user;
      if (!seen.insert(user).second) continue;
      if (user->op() == Op::kSlice && TakesGroup(*user)) {
        groups.slices.push_back(user);
      } else if (IsElementwise(user->op()) && user->shape().dims() == dims) {
        left.push_back(user);
      } else {
        return {};
      }
    }
  }
  if (groups.slices.empty()) return {};
  groups.columns = groups.slices[0]->shape().dims().back().value();
  for (const Node* slice : groups.slices) {
    if (slice->shape().dims().back().value() != groups.columns) return {};
  }
  groups.count = dims.back().value() / groups.columns;
  if (groups.count < 2 || groups.count > kMaxColumnGroups) return {};
  return groups;
}

}  // namespace tektite::ir
