// Which nodes become one attention kernel: a part of fusion_groups.
//
//   dot_general -> scale, mask -> softmax -> dot_general -> transpose
//
// A kernel of kind `attention` computes the scores of a block of rows, keeps them in cache, and
// never writes them.  The rules, each with the name that tests/passes/attention.test knows:
//
//   is_attention     the nodes are those that jit/ops/attention.h finds
//   has_kernels      the back end attends in their type (TargetInfo::attention_types)
//   known_widths     the widths of queries and values are constant and at most kWidestHead
//   many_rows        more than kMostStreamedRows rows, or an unknown number: with fewer nothing of
//                    the keys and values is used again, and each product streams its own
//   nothing_escapes  nodes between the products have no other reader
//   takes_mask       elementwise work on the scores joins the kernel, with its operands when no
//                    other node reads them; other operands are read from memory, but what depends
//                    on positions alone is computed where the products are of a narrow type
//   takes_transpose  a transpose that alone reads the result and leaves the columns innermost
#ifndef TEKTITE_JIT_PASSES_ATTENTION_NODES_H_
#define TEKTITE_JIT_PASSES_ATTENTION_NODES_H_

#include <functional>
#include <vector>

#include "jit/ir/graph.h"
#include "jit/target/target_info.h"

namespace tektite::passes {

// The caller's facts about a node: it belongs to no kernel and is copied to its readers; it depends
// on weights alone.  And about the machine: which types it has kernels for attention of.
struct NodeFacts {
  std::function<bool(const ir::Node*)> is_free, is_stable;
  const target::TargetInfo& target;
};

// The nodes of the attention that ends in the product `context`, in no particular order, without
// those that are free; empty if there is none or some rule says no.
std::vector<ir::Node*> AttentionNodes(ir::Node* context, const NodeFacts& facts);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_ATTENTION_NODES_H_
