// Lets nodes that compute the same thing be one: same op, operands, attributes, shapes and regions.
//
//   %0 = add(%x, %y)                  %0 = add(%x, %y)
//   %1 = add(%y, %x)            ->    %1 = mul(%0, %0)
//   %2 = mul(%0, %1)
//
// The first of them stays.  Custom calls may have effects and barriers exist to keep things apart,
// so both are left alone.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/hash/hash.h"
#include "jit/passes/names.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

using Operands = absl::InlinedVector<Value, 3>;

bool IsCommutative(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kAnd:
    case Op::kMax:
    case Op::kMin:
    case Op::kMul:
    case Op::kOr:
    case Op::kXor:
      return true;
    default:
      return false;
  }
}

Operands SortedOperands(const Node& node) {
  Operands operands(node.operands().begin(), node.operands().end());
  if (IsCommutative(node.op())) std::sort(operands.begin(), operands.end());
  return operands;
}

bool SameGraph(const Graph& a, const Graph& b);

// Everything but the operands.
bool SameComputation(const Node& a, const Node& b) {
  if (a.op() != b.op() || a.num_operands() != b.num_operands() || a.shapes() != b.shapes() ||
      a.num_regions() != b.num_regions() || !(a.attrs() == b.attrs())) {
    return false;
  }
  for (int i = 0; i < a.num_regions(); ++i) {
    if (!SameGraph(a.region(i), b.region(i))) return false;
  }
  return true;
}

// Node by node in the same order; equal graphs in another order count as different.
bool SameGraph(const Graph& a, const Graph& b) {
  if (a.num_nodes() != b.num_nodes() || a.outputs().size() != b.outputs().size()) return false;
  absl::flat_hash_map<const Node*, const Node*> partner;
  auto same_value = [&](const Value& u, const Value& v) {
    auto it = partner.find(u.node);
    return it != partner.end() && it->second == v.node && u.index == v.index;
  };
  for (auto i = a.nodes().begin(), j = b.nodes().begin(); i != a.nodes().end(); ++i, ++j) {
    if (!SameComputation(**i, **j)) return false;
    for (int k = 0; k < (*i)->num_operands(); ++k) {
      if (!same_value((*i)->operand(k), (*j)->operand(k))) return false;
    }
    partner[i->get()] = j->get();
  }
  return std::equal(a.outputs().begin(), a.outputs().end(), b.outputs().begin(), same_value);
}

// A literal hashes by type, sizes and its first bytes: enough to tell weights apart in practice,
// and equality compares all of them.
size_t LiteralHash(const ir::Literal& literal) {
  const size_t bytes = std::min<size_t>(literal.num_bytes(), 256);
  return absl::HashOf(static_cast<int>(literal.dtype()), literal.sizes(),
                      absl::string_view(static_cast<const char*>(literal.raw()), bytes));
}

size_t NodeHash(const Node& node) {
  size_t literal = 0;
  if (node.op() == Op::kConstant) literal = LiteralHash(node.attrs().GetLiteral(ir::Attr::value));
  return absl::HashOf(static_cast<int>(node.op()), literal, SortedOperands(node),
                      node.Ints(ir::Attr::dimensions));
}

bool EliminateCommonIn(Graph& graph) {
  bool changed = false;
  absl::flat_hash_map<size_t, std::vector<Node*>> seen;
  for (Node* node : graph.NodeList()) {
    for (int i = 0; i < node->num_regions(); ++i) changed |= EliminateCommonIn(node->region(i));
    if (node->op() == Op::kParameter) continue;
    std::vector<Node*>& candidates = seen[NodeHash(*node)];
    auto same = std::find_if(candidates.begin(), candidates.end(), [&](Node* other) {
      return SameComputation(*node, *other) && SortedOperands(*node) == SortedOperands(*other);
    });
    if (same == candidates.end()) {
      candidates.push_back(node);
      continue;
    }
    graph.Replace(node, (*same)->results());
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> EliminateCommon(Graph& graph, PassContext& context) {
  return EliminateCommonIn(graph);
}

}  // namespace tektite::passes
