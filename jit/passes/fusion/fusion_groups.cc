#include "jit/passes/fusion/fusion_groups.h"

#include <algorithm>
#include <utility>

#include "jit/ir/columns.h"
#include "jit/ir/control.h"
#include "jit/ir/part.h"
#include "jit/ir/symbols.h"
#include "jit/ops/ops.h"
#include "jit/passes/attention_nodes.h"
#include "jit/passes/fusion/fusion_nodes.h"
#include "jit/passes/loops/update_nodes.h"
#include "jit/passes/names.h"

namespace tektite::passes {
namespace {

using ir::OpFamily;

// Recomputing this many cheap operations per use costs less than storing and loading the value.
constexpr int kMaxRecomputedNodes = 4;

// Whether the producer reads a row of the array that the consumer updates: one kernel for both
// could not update it in place, and would copy all of it.
bool ReadsWhatIsUpdated(const FusionGroup& producer, const FusionGroup& consumer) {
  for (const Node* update : consumer.nodes) {
    if (update->op() != Op::kDynamicUpdateSlice) continue;
    for (const Node* row : producer.nodes) {
      if (IsRowOfTurn(*row) && row->operand(0) == update->operand(0)) return true;
    }
  }
  return false;
}

// Elementwise, but for the columns it reads.
bool OnColumns(const FusionGroup& group) {
  return std::all_of(group.nodes.begin(), group.nodes.end(), [](const Node* node) {
    return ir::IsElementwise(node->op()) || ir::TakesColumn(*node);
  });
}

// Whether something reads the value from memory, so that it is there in any case.
bool IsInMemory(Value value) {
  if (value.node->IsOutput(value.index)) return true;
  const auto& uses = value.node->uses(value.index);
  return std::any_of(uses.begin(), uses.end(), [](const ir::Use& use) {
    return ReadsMemory(*use.user) ||
           (use.user->op() == Op::kReshape && IsInMemory(use.user->result()));
  });
}

bool IsScalar(Value value) { return ElementsOf(Squeezed(value.shape())) == 1; }

// x > 0 and its conversion to numbers, where x is computed and is in memory in any case: the mask
// of a ReLU, which its gradient reads much later.  A reader that reads x in the mask's place saves
// writing it.  (A convolution of 64x28x28x1 to 32 wrote 5.5 of its 11 MB for it.)
bool IsMaskOfMemory(const Node& node) {
  if (node.IsOutput()) return false;
  for (const ir::Use& use : node.uses()) {
    if (!ir::IsElementwise(use.user->op())) return false;
  }
  if (node.op() == Op::kConvert) {
    const Value mask = node.operand(0);
    return mask.node->op() == Op::kCompare && IsMaskOfMemory(*mask.node);
  }
  if (node.op() != Op::kCompare) return false;
  const Value x = node.operand(0);
  const Node* bound = node.operand(1).node;
  return ir::IsElementwise(x.node->op()) && IsInMemory(x) && bound->op() == Op::kBroadcastInDim &&
         IsScalar(bound->operand(0)) && bound->operand(0).node->op() == Op::kConstant;
}

// Scatter begins with one value everywhere, which its kernel writes itself.
bool FillsScatter(const Node& node, const ir::Use& use) {
  return node.op() == Op::kBroadcastInDim && IsScalar(node.operand(0)) &&
         use.user->op() == Op::kScatter && use.operand == 0;
}

}  // namespace

absl::flat_hash_set<const Node*> StableNodes(const ir::Graph& graph) {
  absl::flat_hash_set<const Node*> stable;
  for (const auto& node : graph.nodes()) {
    if (node->op() == Op::kParameter) {
      if (node->Bool(Attr::weight)) stable.insert(node.get());
      continue;
    }
    if (ir::HasSymbols(*node) || node->op() == Op::kSizeValue || ir::IsControl(*node)) {
      continue;
    }
    auto operands = node->operands();
    if (std::all_of(operands.begin(), operands.end(),
                    [&](Value v) { return stable.count(v.node) > 0; })) {
      stable.insert(node.get());
    }
  }
  return stable;
}

void FusionGroups::FindFreeNodes() {
  // Backwards, since a node is free only if none of its users needs it in memory.
  std::vector<Node*> nodes = graph_.NodeList();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    Node* node = *it;
    if (IsMaskOfMemory(*node)) free_.insert(node);
    if (!IsFreeOp(*node)) continue;
    const bool is_view = node->op() == Op::kReshape || node->op() == Op::kConstant;
    bool in_memory = node->IsOutput() && !is_view;
    for (const ir::Use& use : node->uses()) {
      const bool view_user = use.user->op() == Op::kReshape && !IsFree(use.user);
      const bool reads = ReadsMemory(*use.user) && !FillsScatter(*node, use);
      in_memory |= !is_view && (reads || view_user);
      in_memory |= !is_view && use.user->op() == Op::kGather;
      // A reshape whose result is needed in memory needs its operand there.
      if (!is_view && use.user->op() == Op::kReshape && IsFree(use.user)) {
        for (const ir::Use& next : use.user->uses()) in_memory |= ReadsMemory(*next.user);
        in_memory |= use.user->IsOutput();
      }
    }
    if (!in_memory) free_.insert(node);
  }
}

void FusionGroups::CollectUses(Node* node, std::vector<DeepUse>* uses, bool* is_output) const {
  for (int r = 0; r < node->num_results(); ++r) {
    CollectUses(node, r, false, KeptDims(node->shape(r)), uses, is_output);
  }
}

void FusionGroups::CollectUses(Node* node, int result, bool via_broadcast,
                               const std::vector<int>& axes, std::vector<DeepUse>* uses,
                               bool* is_output) const {
  *is_output |= node->IsOutput(result);
  const std::vector<int> kept = KeptDims(node->shape(result));
  for (const ir::Use& use : node->uses(result)) {
    if (!IsFree(use.user)) {
      const bool leading =
          axes.size() <= kept.size() && std::equal(axes.begin(), axes.end(), kept.begin());
      uses->push_back({use.user, use.operand, via_broadcast, leading});
      continue;
    }
    bool repeats = false;
    std::vector<int> next;
    if (use.user->op() == Op::kBroadcastInDim) {
      repeats = Squeezed(use.user->shape()) != Squeezed(use.user->operand_shape(0));
      for (int a : axes) next.push_back(static_cast<int>(use.user->Ints(Attr::dimensions)[a]));
    } else {
      // A reshape that moves only 1s.
      const std::vector<int> moved = KeptDims(use.user->shape());
      for (int a : axes)
        next.push_back(moved[std::find(kept.begin(), kept.end(), a) - kept.begin()]);
    }
    CollectUses(use.user, 0, via_broadcast || repeats, next, uses, is_output);
  }
}

Node* FusionGroups::SkipFree(Value v) const {
  Node* node = v.node;
  while (IsFree(node) && node->num_operands() == 1) node = node->operand(0).node;
  return node;
}

FusionGroups::FusionGroups(ir::Graph& graph, const PassContext& context)
    : graph_(graph), context_(context), stable_(StableNodes(graph)), updates_(UpdateNodes(graph)) {
  FindFreeNodes();
  FindColumnGroups();
  NumberNodes();
  for (Node* node : graph.NodeList()) SeedAttention(node);
  for (Node* node : graph.NodeList()) {
    if (group_of_.count(node) == 0) Seed(node);
  }
  for (auto& group : groups_) Connect(group.get());
  bool changed = true;
  for (int round = 0; changed && round < 8; ++round) {
    changed = false;
    for (Node* node : graph.NodeList()) {
      if (group_of_.count(node) > 0) changed |= TryMergeOperands(node);
    }
  }
  for (const auto& [product, columns] : column_groups_) MergeColumnReaders(product, columns);
}

void FusionGroups::NumberNodes() {
  position_.clear();
  int position = 0;
  for (const Node* node : graph_.NodeList()) position_[node] = position++;
}

FusionGroup* FusionGroups::GroupOf(const Node* node) const {
  auto it = group_of_.find(node);
  return it == group_of_.end() ? nullptr : it->second;
}

void FusionGroups::SeedAttention(Node* node) {
  const NodeFacts facts = {[this](const Node* n) { return free_.count(n) > 0; },
                           [this](const Node* n) { return stable_.count(n) > 0; }, context_.target};
  std::vector<Node*> nodes = AttentionNodes(node, facts);
  if (nodes.empty()) return;
  auto group = std::make_unique<FusionGroup>();
  group->kind = FusionKind::kAttention;
  group->space = Squeezed(node->shape());
  group->root = node;
  std::sort(nodes.begin(), nodes.end(),
            [this](Node* a, Node* b) { return position_.at(a) < position_.at(b); });
  for (Node* n : nodes) group_of_[n] = group.get();
  group->nodes = std::move(nodes);
  groups_.push_back(std::move(group));
}

void FusionGroups::Seed(Node* node) {
  if (node->op() == Op::kParameter || node->op() == Op::kConstant) return;
  if (node->op() == Op::kSizeValue) return;                // the runtime provides it
  if (node->op() == Op::kReshape || IsFree(node)) return;  // a view, or copied to its users
  if (!stable_.count(node) && !column_readers_.count(node) &&
      IsPartOfMemory(*node, context_.target.operand_alignment)) {
    views_.insert(node);
    return;
  }
  auto group = std::make_unique<FusionGroup>();
  group->stable = stable_.count(node) > 0;
  group->updates = updates_.count(node) > 0;
  group->nodes = {node};
  group->space = Squeezed(node->shape());
  group->kind = FusionKind::kSingle;
  if (ir::IsElementwise(node->op()) || IsMovement(node->op()) ||
      node->op() == Op::kBroadcastInDim || node->op() == Op::kIota) {
    group->kind = FusionKind::kLoop;
    group->joins_columns = ir::JoinsColumns(*node);
  } else if (IsSimpleReduce(*node)) {
    group->space = Squeezed(node->operand_shape(0));
    group->kept = Squeezed(node->shape());
    group->kind =
        FitsRowKernel(*node, group->space, group->kept) ? FusionKind::kRow : FusionKind::kReduce;
    group->root = node;
  } else if (node->op() == Op::kDotGeneral || node->op() == Op::kConvolution) {
    group->kind = FusionKind::kContraction;
    group->root = node;
  } else if (node->op() == Op::kReduceWindow || node->op() == Op::kSelectAndScatter) {
    group->kind = FusionKind::kWindow;
    group->root = node;
  }
  group_of_[node] = group.get();
  groups_.push_back(std::move(group));
}

bool FusionGroups::TryMergeOperands(Node* node) {
  bool merged = false;
  for (int i = 0; i < node->num_operands(); ++i) {
    FusionGroup* producer = GroupOf(SkipFree(node->operand(i)));
    FusionGroup* consumer = GroupOf(node);
    if (producer == nullptr || consumer == nullptr || producer == consumer) continue;
    merged |= TryMerge(producer, consumer);
  }
  return merged;
}

bool FusionGroups::OnlyUsedBy(const FusionGroup& group, const FusionGroup& consumer) const {
  for (Node* node : group.nodes) {
    std::vector<DeepUse> uses;
    bool is_output = false;
    CollectUses(node, &uses, &is_output);
    if (is_output) return false;
    for (const DeepUse& use : uses) {
      FusionGroup* g = GroupOf(use.user);
      if (g != &group && g != &consumer) return false;
    }
  }
  return true;
}

bool FusionGroups::CanMerge(const FusionGroup& producer, const FusionGroup& consumer,
                            bool* producer_is_inner, FusionKind* kind) const {
  *producer_is_inner = false;
  if (producer.stable != consumer.stable || producer.updates != consumer.updates) return false;
  if (producer.nodes.size() + consumer.nodes.size() > kMaxNodes) return false;
  for (const FusionKind either : {producer.kind, consumer.kind}) {
    if (either == FusionKind::kSingle || either == FusionKind::kAttention) return false;
  }
  // A reader of single elements of the joined columns would compute all columns for each.
  if (producer.joins_columns && producer.nodes.size() > 1) return false;

  // How the consumer reads the producer.
  bool direct = true, broadcast = false, into_root = false, from_inner = false;
  bool gathers = false, leading = true;
  for (Node* node : producer.nodes) {
    std::vector<DeepUse> uses;
    bool is_output = false;
    CollectUses(node, &uses, &is_output);
    for (const DeepUse& use : uses) {
      if (GroupOf(use.user) != &consumer) continue;
      broadcast |= use.via_broadcast;
      leading &= use.leading;
      direct &= IsDirectUse(*use.user) && consumer.inner.count(use.user) == 0;
      into_root |= use.user == consumer.root && !IsSimpleReduce(*use.user);
      from_inner |= producer.inner.count(node) > 0;
      gathers |= use.user->op() == Op::kGather || use.user->op() == Op::kDynamicSlice;
    }
  }
  if (into_root || from_inner || gathers) return false;

  const bool same_space = producer.space == consumer.space;
  const bool row_values = producer.kind == FusionKind::kRow && producer.kept == consumer.space;
  switch (producer.kind) {
    case FusionKind::kLoop:
      break;
    case FusionKind::kRow:
      // A row kernel absorbs the nodes that follow it: in its own space, or on its reduced values.
      if (consumer.kind != FusionKind::kLoop && consumer.kind != FusionKind::kRow) return false;
      if (!consumer.inner.empty() || !direct || !leading) return false;
      if (consumer.kind == FusionKind::kRow) {
        *kind = FusionKind::kRow;
        return same_space && producer.kept == consumer.kept;
      }
      for (Node* node : consumer.nodes) {
        if (!ir::IsElementwise(node->op())) return false;
      }
      *kind = FusionKind::kRow;
      if (same_space) return true;
      return row_values && !broadcast;
    case FusionKind::kReduce:
    case FusionKind::kContraction:
    case FusionKind::kWindow: {
      // An epilogue in the space of the result.
      if (consumer.kind != FusionKind::kLoop || !direct || broadcast) return false;
      for (Node* node : consumer.nodes) {
        const bool read_there = producer.kind == FusionKind::kContraction && IsRowOfTurn(*node);
        if (!ir::IsElementwise(node->op()) && !read_there) return false;
      }
      const Dims& result = producer.kind == FusionKind::kReduce ? producer.kept : producer.space;
      *kind = producer.kind;
      return result == consumer.space;
    }
    case FusionKind::kAttention:
    case FusionKind::kSingle:
      return false;
  }

  // The producer is a loop.
  const bool producer_elementwise = std::all_of(producer.nodes.begin(), producer.nodes.end(),
                                                [](Node* n) { return ir::IsElementwise(n->op()); });
  const bool place_by_place =
      producer_elementwise ||
      std::all_of(producer.nodes.begin(), producer.nodes.end(),
                  [](Node* n) { return ir::IsElementwise(n->op()) || IsRowOfTurn(*n); });
  switch (consumer.kind) {
    case FusionKind::kLoop:
      *kind = FusionKind::kLoop;
      if (direct && same_space && !broadcast) return true;
      *producer_is_inner = true;
      if (!OnlyUsedBy(producer, consumer)) return false;
      if (broadcast) {
        if (producer.nodes.size() > kMaxRecomputedNodes) return false;
        return std::none_of(producer.nodes.begin(), producer.nodes.end(),
                            [](Node* n) { return IsExpensive(*n) || IsMovement(n->op()); });
      }
      if (consumer.joins_columns && OnColumns(producer)) return true;
      return producer_elementwise || producer.nodes.size() == 1 ||
             (place_by_place && !ReadsWhatIsUpdated(producer, consumer));
    case FusionKind::kRow:
      *kind = FusionKind::kRow;
      if (!direct || !consumer.inner.empty()) return false;
      if (same_space && !broadcast) {
        return producer_elementwise;
      }
      return false;
    case FusionKind::kReduce:
      *kind = FusionKind::kReduce;
      // Reduced values go through an epilogue in their own space, which a producer may feed too.
      if (!direct || broadcast || !OnlyUsedBy(producer, consumer)) return false;
      return same_space || producer.space == consumer.kept;
    case FusionKind::kContraction:
    case FusionKind::kWindow: {
      const bool fits =
          consumer.kind == FusionKind::kContraction ? place_by_place : producer_elementwise;
      *kind = consumer.kind;
      return direct && !broadcast && same_space && fits && OnlyUsedBy(producer, consumer);
    }
    case FusionKind::kAttention:
    case FusionKind::kSingle:
      return false;
  }
  return false;
}

void FusionGroups::Connect(FusionGroup* group) {
  std::vector<Node*> stack(group->nodes.begin(), group->nodes.end());
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (int r = 0; r < node->num_results(); ++r) {
      for (const ir::Use& use : node->uses(r)) {
        FusionGroup* g = GroupOf(use.user);
        if (g == nullptr) {
          stack.push_back(use.user);  // free nodes and views pass the value on
        } else if (g != group) {
          group->consumers.insert(g);
          g->producers.insert(group);
        }
      }
    }
  }
}

bool FusionGroups::CreatesCycle(const FusionGroup* producer, const FusionGroup* consumer) const {
  // A path producer -> other -> ... -> consumer would make the merged group wait for itself.
  absl::flat_hash_set<const FusionGroup*> seen;
  std::vector<const FusionGroup*> stack;
  for (const FusionGroup* g : producer->consumers) {
    if (g != consumer && seen.insert(g).second) stack.push_back(g);
  }
  while (!stack.empty()) {
    const FusionGroup* g = stack.back();
    stack.pop_back();
    for (const FusionGroup* next : g->consumers) {
      if (next == consumer) return true;
      if (seen.insert(next).second) stack.push_back(next);
    }
  }
  return false;
}

bool FusionGroups::TryMerge(FusionGroup* producer, FusionGroup* consumer) {
  bool inner = false;
  FusionKind kind;
  if (!CanMerge(*producer, *consumer, &inner, &kind)) return false;
  if (CreatesCycle(producer, consumer)) return false;
  // The one that decides the space takes the other in.
  FusionGroup* into = producer->kind == FusionKind::kLoop ? consumer : producer;
  FusionGroup* from = into == producer ? consumer : producer;
  if (inner) into->inner.insert(from->nodes.begin(), from->nodes.end());
  into->inner.insert(from->inner.begin(), from->inner.end());
  into->kind = kind;
  Merge(from, into);
  return true;
}

void FusionGroups::Merge(FusionGroup* from, FusionGroup* into) {
  for (Node* node : from->nodes) group_of_[node] = into;
  into->nodes.insert(into->nodes.end(), from->nodes.begin(), from->nodes.end());
  std::sort(into->nodes.begin(), into->nodes.end(),
            [this](Node* a, Node* b) { return position_.at(a) < position_.at(b); });
  from->nodes.clear();
  for (FusionGroup* g : from->consumers) {
    g->producers.erase(from);
    if (g == into) continue;
    g->producers.insert(into);
    into->consumers.insert(g);
  }
  for (FusionGroup* g : from->producers) {
    g->consumers.erase(from);
    if (g == into) continue;
    g->consumers.insert(into);
    into->producers.insert(g);
  }
  into->consumers.erase(from);
  into->producers.erase(from);
}

std::vector<FusionGroup*> FusionGroups::InOrder() {
  NumberNodes();  // AddNodes brings new ones, any of which may become the last of its group
  // Kahn's algorithm over groups; ties by the position of the last node, so that kernels follow the
  // order of the graph.
  absl::flat_hash_map<FusionGroup*, size_t> waiting;
  for (auto& group : groups_) {
    if (!group->nodes.empty()) waiting[group.get()] = group->producers.size();
  }
  auto later = [this](FusionGroup* a, FusionGroup* b) {
    return position_.at(a->nodes.back()) > position_.at(b->nodes.back());
  };
  std::vector<FusionGroup*> ready, order;
  for (auto& [group, count] : waiting) {
    if (count == 0) ready.push_back(group);
  }
  std::make_heap(ready.begin(), ready.end(), later);
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    FusionGroup* group = ready.back();
    ready.pop_back();
    order.push_back(group);
    for (FusionGroup* c : group->consumers) {
      if (--waiting[c] == 0) {
        ready.push_back(c);
        std::push_heap(ready.begin(), ready.end(), later);
      }
    }
  }
  return order;
}

}  // namespace tektite::passes
