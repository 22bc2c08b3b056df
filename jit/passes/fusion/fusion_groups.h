// Which nodes become one kernel: the analysis half of the fuse pass.
//
// Every node that computes gets a group of its own; groups are then merged along edges while the
// result is still one of the kernel kinds and no cycle arises.  A group is one of:
//
//   loop         elementwise work and data movement over one space
//   row          reductions over the innermost dimensions and everything in their space, before,
//                between and after (softmax, layer norm)
//   reduce       any other reduction, with what feeds it and what its result goes through
//   attention    softmax(query x key) x value with the nodes between: attention_nodes.h
//   contraction  dot_general or convolution, with an elementwise epilogue, which may read the row
//                of a turn (a dynamic_slice of a parameter), or a dot_general's columns in groups
//                (jit/ir/column_groups.h) where the back end has an implementation for that
//   window       reduce_window or select_and_scatter, with an elementwise epilogue
//   single       everything else: one op, one kernel; a loop or a choice, which is none
//
// A broadcast, an iota, a scalar constant and a reshape that only adds or drops dimensions of size
// 1 are free: they belong to no group and are copied into each group that reads them.  So is the
// mask of a ReLU (x > 0, also as numbers) whose x is in memory in any case.
//
// A slice of a parameter or of a contraction's result, if it is a part of its memory (ir::IsPart),
// belongs to no group either: it is read where it lies, if the back end can do that.
//
// Three rules keep values and costs right: a value is computed once (merging never duplicates work,
// so exp(x - max) is one value for its sum and for the division; what the finished groups compute
// again is up to fusion_recompute.h); work that depends only on weights
// never shares a group with work that does not, since it will run once and not in every call; and
// nodes that update variables (update_nodes.h) share groups with each other only.
#ifndef TEKTITE_JIT_PASSES_FUSION_FUSION_GROUPS_H_
#define TEKTITE_JIT_PASSES_FUSION_FUSION_GROUPS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "jit/ir/column_groups.h"
#include "jit/ir/graph.h"
#include "jit/passes/pass.h"

namespace tektite::passes {

struct FusionGroup {
  ir::FusionKind kind = ir::FusionKind::kLoop;
  ir::Dims space;            // the iteration space, without dimensions of size 1
  ir::Dims kept;             // row and reduce: the space of the reduced values, without size 1
  ir::Node* root = nullptr;  // the contraction, window, or first reduce; attention's last product
  bool stable = false;       // depends on weights and constants alone
  bool updates = false;      // computes new values of variables: update_nodes.h
  // Its result is a concatenate of columns (jit/ir/columns.h), each of which is computed once.
  bool joins_columns = false;
  std::vector<ir::Node*> nodes;  // in topological order
  // Nodes that are read through data movement and so live in another space: their values must not
  // leave the group.
  absl::flat_hash_set<const ir::Node*> inner;
  // Groups that read this one's values, and whose values it reads, through free nodes and views
  // too.
  absl::flat_hash_set<FusionGroup*> consumers, producers;
};

// Nodes that depend on nothing but constants and parameters with weight = true, and not on sizes.
// Loops and choices run in every call.
absl::flat_hash_set<const ir::Node*> StableNodes(const ir::Graph& graph);

class FusionGroups {
 public:
  FusionGroups(ir::Graph& graph, const PassContext& context);
  // The groups, in an order in which each comes after the groups that it reads.
  std::vector<FusionGroup*> InOrder();
  FusionGroup* GroupOf(const ir::Node* node) const;
  // True for the nodes that are copied to their users; see above.
  bool IsFree(const ir::Node* node) const { return free_.count(node) > 0; }
  // True for slices that are read where they lie; see above.
  bool IsView(const ir::Node* node) const { return views_.count(node) > 0; }
  // New nodes that the group's own read, in topological order.
  void AddNodes(FusionGroup& group, absl::Span<ir::Node* const> nodes);
  // Erases the group's nodes that nothing reads any more; a group without nodes is none.
  void EraseDead(FusionGroup& group);

 private:
  struct DeepUse {
    ir::Node* user;
    int operand;
    bool via_broadcast;  // a broadcast that really repeats values lay between
    // The node's dimensions are the leading ones of the operand (those of size 1 aside), as a row's
    // values are in their row's space.
    bool leading;
  };
  void CollectUses(ir::Node* node, std::vector<DeepUse>* uses, bool* is_output) const;
  // `axes`: which dimensions of the value read so far are the first node's.
  void CollectUses(ir::Node* node, int result, bool via_broadcast, const std::vector<int>& axes,
                   std::vector<DeepUse>* uses, bool* is_output) const;
  ir::Node* SkipFree(ir::Value v) const;
  void NumberNodes();
  void FindFreeNodes();
  void FindColumnGroups();
  void SeedAttention(ir::Node* node);
  void Seed(ir::Node* node);
  bool TryMergeOperands(ir::Node* node);
  bool TryMerge(FusionGroup* producer, FusionGroup* consumer);
  void MergeColumnReaders(ir::Node* product, const ir::ColumnGroups& columns);
  bool ReadsColumnsOnly(const FusionGroup& group, const ir::ColumnGroups& columns) const;
  void Merge(FusionGroup* from, FusionGroup* into);
  bool CanMerge(const FusionGroup& producer, const FusionGroup& consumer, bool* producer_is_inner,
                ir::FusionKind* kind) const;
  bool CreatesCycle(const FusionGroup* producer, const FusionGroup* consumer) const;
  void Connect(FusionGroup* group);
  void Unlink(FusionGroup& group);
  // Every use of the group's values is inside `consumer` (or the group itself), and none is an
  // output.
  bool OnlyUsedBy(const FusionGroup& group, const FusionGroup& consumer) const;

  ir::Graph& graph_;
  const PassContext& context_;
  absl::flat_hash_set<const ir::Node*> stable_, updates_, free_, views_;
  // Products that get what reads their columns in groups, and the slices that do.
  std::vector<std::pair<ir::Node*, ir::ColumnGroups>> column_groups_;
  absl::flat_hash_set<const ir::Node*> column_readers_;
  absl::flat_hash_map<const ir::Node*, int> position_;
  std::vector<std::unique_ptr<FusionGroup>> groups_;
  absl::flat_hash_map<const ir::Node*, FusionGroup*> group_of_;
};

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_FUSION_FUSION_GROUPS_H_
