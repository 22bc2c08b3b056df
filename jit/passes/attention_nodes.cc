#include "jit/passes/attention_nodes.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "jit/ops/attention.h"
#include "jit/ops/ops.h"
#include "jit/passes/names.h"

namespace tektite::passes {
namespace {

using NodeSet = absl::flat_hash_set<const Node*>;

constexpr int64_t kWidestHead = 256;
constexpr int64_t kMostStreamedRows = 4;

bool KnownWidth(const Dim& d) {
  return d.is_constant() && d.value() >= 1 && d.value() <= kWidestHead;
}

bool HasKernels(const NodeFacts& facts, ir::DType dtype) { return facts.target.Attends(dtype); }

bool KnownWidths(const ops::Attention& a) {
  const ops::DotDims scores = ops::GetDotDims(*a.scores), context = ops::GetDotDims(*a.context);
  return KnownWidth(a.scores->operand_shape(0).dim(static_cast<int>(scores.lhs_contracting[0]))) &&
         KnownWidth(a.context->operand_shape(1).dim(static_cast<int>(context.rhs_free[0])));
}

bool ManyRows(const ops::Attention& a) {
  const ir::Shape& logits = a.logits.shape();
  Dim rows(1);
  for (int i = a.batch_dims; i + 1 < logits.rank(); ++i) rows = rows * logits.dim(i);
  return rows.value_or(kMostStreamedRows + 1) > kMostStreamedRows;
}

// Everything that reads `node`, seen through free nodes, is among `nodes`.
bool ReadOnlyBy(const NodeSet& nodes, const Node* node, const NodeFacts& facts) {
  if (node->num_results() != 1 || node->IsOutput()) return false;
  return std::all_of(node->uses().begin(), node->uses().end(), [&](const ir::Use& use) {
    return nodes.count(use.user) > 0 ||
           (facts.is_free(use.user) && ReadOnlyBy(nodes, use.user, facts));
  });
}

// What is worked out from positions alone, as spread_positions leaves it.
bool IsOfPositions(const Node* node) {
  if (node->op() == Op::kIota || node->op() == Op::kConstant) return true;
  if (node->op() != Op::kBroadcastInDim && !ir::IsElementwise(node->op())) return false;
  const auto operands = node->operands();
  return std::all_of(operands.begin(), operands.end(),
                     [](Value v) { return IsOfPositions(v.node); });
}

// Computed once and kept; a mask of positions is not, beside products in narrow types.
bool IsKept(const ops::Attention& a, const NodeFacts& facts, const Node* node) {
  const bool is_narrow = a.context->shape().dtype() != ir::DType::kF32;
  return facts.is_stable(node) && !(is_narrow && IsOfPositions(node));
}

// takes_mask: the nodes that the logits depend on, as far as nothing else reads them.  False if
// that does not reach the product.
bool TakeLogits(const ops::Attention& a, const NodeFacts& facts, NodeSet* nodes) {
  bool changed = true;
  while (changed) {
    changed = false;
    const std::vector<const Node*> taken(nodes->begin(), nodes->end());
    for (const Node* node : taken) {
      if (!ir::IsElementwise(node->op())) continue;
      for (Value v : node->operands()) {
        const bool fits = v.node == a.scores || ir::IsElementwise(v.node->op());
        if (!fits || nodes->count(v.node) > 0 || facts.is_free(v.node) ||
            IsKept(a, facts, v.node) || v.shape().dims() != a.logits.shape().dims() ||
            !ReadOnlyBy(*nodes, v.node, facts)) {
          continue;
        }
        nodes->insert(v.node);
        changed = true;
      }
    }
  }
  return nodes->count(a.scores) > 0;
}

Node* ResultTranspose(Node* context) {
  if (!context->HasOneUse()) return nullptr;
  Node* user = context->uses()[0].user;
  if (user->op() != Op::kTranspose) return nullptr;
  const int64_t last = context->shape().rank() - 1;
  return user->Ints(Attr::permutation).back() == last ? user : nullptr;
}

}  // namespace

std::vector<Node*> AttentionNodes(Node* context, const NodeFacts& facts) {
  const std::optional<ops::Attention> a = ops::FindAttention(context);
  if (!a.has_value() || !HasKernels(facts, context->shape().dtype()) || facts.is_stable(context) ||
      !KnownWidths(*a) || !ManyRows(*a)) {
    return {};
  }
  NodeSet nodes = {context};
  nodes.insert(a->softmax.begin(), a->softmax.end());
  if (!TakeLogits(*a, facts, &nodes)) return {};
  std::vector<Node*> own;
  for (const Node* node : nodes) {
    if (facts.is_free(node)) continue;
    if (IsKept(*a, facts, node)) return {};
    if (node != context && !ReadOnlyBy(nodes, node, facts)) return {};
    own.push_back(const_cast<Node*>(node));
  }
  if (Node* transpose = ResultTranspose(context)) own.push_back(transpose);
  return own;
}

}  // namespace tektite::passes
