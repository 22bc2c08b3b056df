#include "jit/passes/fusion/fusion_recompute.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "jit/passes/fusion/fusion_nodes.h"
#include "jit/passes/names.h"

namespace tektite::passes {
namespace {

using NodeSet = absl::flat_hash_set<const Node*>;

// Operations that a reader repeats for a value at most.
constexpr size_t kMostOperations = 8;
// In passes over an array: to write one takes a read of its lines first.
constexpr int kCostOfWriting = 2, kCostOfReading = 1;
// A value of a row instead of one of each element is none that counts.
constexpr int64_t kSmallPart = 16;

bool Moves(const Node& node) { return IsMovement(node.op()) && node.op() != ir::Op::kReshape; }

bool IsInPlaceKind(const FusionGroup& group) {
  const bool kind = group.kind == FusionKind::kLoop || group.kind == FusionKind::kRow ||
                    group.kind == FusionKind::kReduce || group.kind == FusionKind::kContraction;
  return kind && !group.stable && !group.updates && !group.joins_columns &&
         std::none_of(group.nodes.begin(), group.nodes.end(),
                      [](const Node* node) { return Moves(*node); });
}

// One group whose values are written, and what would become of them.
class Producer {
 public:
  Producer(const FusionGroups& groups, const FusionGroup& group) : groups_(groups), group_(group) {}

  // Values that readers compute again, in topological order, if `stored` is written (or null).
  struct Plan {
    std::vector<Node*> again;
    int gain = 0;
  };
  Plan PlanWith(const Node* stored) {
    again_.clear();
    chains_.clear();
    read_now_.clear();
    stored_ = stored;
    Plan plan;
    bool writes = stored != nullptr;
    for (Node* node : group_.nodes) {
      const bool leaves = Leaves(*node);
      if (leaves && !ComputeAgain(node, plan)) writes = true;
    }
    if (stored != nullptr) plan.gain -= kCostOfWriting;
    if (writes) return plan;
    if (group_.kind != FusionKind::kLoop) return {};
    plan.gain += kCostOfReading * static_cast<int>(ReadBy(group_).size());  // the kernel is gone
    return plan;
  }

  // The nodes that a reader needs for `value`, in topological order.
  std::vector<Node*> Chain(const Node* value) {
    std::vector<Node*> chain;
    CollectChain(value, &chain);
    return chain;
  }
  bool Leaves(const Node& node) const {
    if (node.IsOutput()) return true;
    return std::any_of(node.uses().begin(), node.uses().end(), [&](const ir::Use& use) {
      return groups_.IsFree(use.user) ? Leaves(*use.user) : groups_.GroupOf(use.user) != &group_;
    });
  }
  bool IsWhole(const Node& node) const {
    return node.num_results() == 1 && Squeezed(node.shape()) == group_.space &&
           group_.inner.count(&node) == 0;
  }

 private:
  const Node* SkipFree(const Node* node) const {
    while (groups_.IsFree(node) && node->num_operands() == 1) node = node->operand(0).node;
    return node;
  }

  // Whether a reader finds the value in memory, or computes it from what it finds there.
  bool IsAvailable(const Node* node) {
    node = SkipFree(node);
    if (groups_.GroupOf(node) != &group_) return true;
    if (!IsWhole(*node)) {
      return group_.kind == FusionKind::kRow && Squeezed(node->shape()) == group_.kept &&
             ElementsOf(group_.kept) * kSmallPart <= ElementsOf(group_.space);
    }
    if (node == stored_ || (again_.count(node) == 0 && Leaves(*node))) return true;
    if (!ir::IsElementwise(node->op())) return false;
    auto [it, inserted] = chains_.emplace(node, true);
    if (!inserted) return it->second;
    bool available = true;
    for (Value operand : node->operands()) available = available && IsAvailable(operand.node);
    chains_[node] = available;
    return available;
  }

  void CollectChain(const Node* node, std::vector<Node*>* chain) {
    if (std::find(chain->begin(), chain->end(), node) != chain->end()) return;
    for (Value operand : node->operands()) {
      const Node* source = SkipFree(operand.node);
      if (IsComputed(source)) CollectChain(source, chain);
    }
    chain->push_back(const_cast<Node*>(node));
  }
  bool IsComputed(const Node* node) const {
    return groups_.GroupOf(node) == &group_ && IsWhole(*node) && node != stored_ &&
           (again_.count(node) > 0 || !Leaves(*node));
  }

  // Whole arrays that a reader of the chain's last value reads.
  NodeSet ArraysOf(const std::vector<Node*>& chain) const {
    NodeSet arrays;
    for (const Node* node : chain) {
      for (Value operand : node->operands()) {
        const Node* source = SkipFree(operand.node);
        if (!IsComputed(source) && IsArray(*source)) arrays.insert(source);
      }
    }
    return arrays;
  }
  bool IsArray(const Node& node) const {
    return ElementsOf(node.shape().dims()) * kSmallPart > ElementsOf(group_.space);
  }
  NodeSet ReadBy(const FusionGroup& group) const {
    NodeSet read;
    for (const Node* node : group.nodes) {
      for (Value operand : node->operands()) {
        const Node* source = SkipFree(operand.node);
        if (groups_.GroupOf(source) != &group && IsArray(*source)) read.insert(source);
      }
    }
    return read;
  }

  // Nodes that the kernel itself needs when the values of again_ are not written.
  NodeSet NeededHere() const {
    NodeSet needed;
    for (auto it = group_.nodes.rbegin(); it != group_.nodes.rend(); ++it) {
      const Node* node = *it;
      const bool written = node == stored_ || (again_.count(node) == 0 && Leaves(*node));
      if (written || std::any_of(node->uses().begin(), node->uses().end(), [&](const ir::Use& use) {
            return groups_.IsFree(use.user) || needed.count(use.user) > 0;
          })) {
        needed.insert(node);
      }
    }
    return needed;
  }

  // The groups that read the value; empty where one of them must read it from memory.
  std::vector<const FusionGroup*> Readers(const Node& value) const {
    std::vector<const FusionGroup*> readers;
    if (value.IsOutput()) return {};
    for (const ir::Use& use : value.uses()) {
      const FusionGroup* reader = groups_.GroupOf(use.user);
      if (reader == &group_) continue;
      if (reader == nullptr || !IsInPlaceKind(*reader) || !IsDirectUse(*use.user) ||
          reader->inner.count(use.user) > 0 || reader->space != group_.space) {
        return {};
      }
      if (std::find(readers.begin(), readers.end(), reader) == readers.end()) {
        readers.push_back(reader);
      }
    }
    return readers;
  }

  // Takes the value out of what is written if that gains.
  bool ComputeAgain(Node* value, Plan& plan) {
    if (!IsWhole(*value) || value == group_.root || value == stored_ ||
        !ir::IsElementwise(value->op())) {
      return false;
    }
    const std::vector<const FusionGroup*> readers = Readers(*value);
    if (readers.empty()) return false;
    again_.insert(value);
    chains_.clear();
    if (TryComputeAgain(value, readers, plan)) {
      plan.again.push_back(value);
      return true;
    }
    again_.erase(value);
    chains_.clear();
    return false;
  }

  bool TryComputeAgain(const Node* value, const std::vector<const FusionGroup*>& readers,
                       Plan& plan) {
    if (!IsAvailable(value)) return false;
    const std::vector<Node*> chain = Chain(value);
    if (chain.size() > kMostOperations) return false;
    if (std::any_of(chain.begin(), chain.end(), [](const Node* n) { return IsExpensive(*n); })) {
      const NodeSet needed = NeededHere();
      for (const Node* node : chain) {
        if (IsExpensive(*node) && (readers.size() > 1 || needed.count(node) > 0)) return false;
      }
    }
    int gain = kCostOfWriting;
    const NodeSet arrays = ArraysOf(chain);
    std::vector<std::pair<const FusionGroup*, NodeSet>> read;
    for (const FusionGroup* reader : readers) {
      if (reader->nodes.size() + chain.size() > kMaxNodes) return false;
      auto it = read_now_.find(reader);
      NodeSet now = it == read_now_.end() ? ReadBy(*reader) : it->second;
      gain += kCostOfReading * static_cast<int>(now.size());
      now.erase(value);
      now.insert(arrays.begin(), arrays.end());
      gain -= kCostOfReading * static_cast<int>(now.size());
      read.emplace_back(reader, std::move(now));
    }
    if (gain <= 0) return false;
    for (auto& [reader, now] : read) read_now_[reader] = std::move(now);
    plan.gain += gain;
    return true;
  }

  const FusionGroups& groups_;
  const FusionGroup& group_;
  const Node* stored_ = nullptr;  // written although nothing outside reads it yet
  NodeSet again_;
  absl::flat_hash_map<const Node*, bool> chains_;  // whether a value that is not written can be had
  absl::flat_hash_map<const FusionGroup*, NodeSet> read_now_;
};

// Gives each reader nodes of its own for a value.
class Copies {
 public:
  Copies(Graph& graph, FusionGroups& groups, const FusionGroup& producer)
      : graph_(graph), groups_(groups), producer_(producer) {}

  // `chain` ends with the value.  Copies lie before their originals, whose operands come first.
  void Replace(const std::vector<Node*>& chain) {
    Node* value = chain.back();
    const std::vector<ir::Use> uses(value->uses().begin(), value->uses().end());
    for (const ir::Use& use : uses) {
      FusionGroup* reader = groups_.GroupOf(use.user);
      if (reader == &producer_) continue;
      use.user->SetOperand(use.operand, Copy(reader, chain)->result());
    }
  }
  void Finish() {
    for (FusionGroup* reader : readers_) groups_.AddNodes(*reader, added_.at(reader));
  }

 private:
  Node* Copy(FusionGroup* reader, const std::vector<Node*>& chain) {
    if (added_.count(reader) == 0) readers_.push_back(reader);
    auto& copies = copies_[reader];
    std::vector<Node*>& added = added_[reader];
    for (Node* node : chain) {
      if (copies.count(node) > 0) continue;
      std::vector<Value> operands;
      for (Value operand : node->operands()) {
        auto it = copies.find(operand.node);
        operands.push_back(it == copies.end() ? operand : it->second->result());
      }
      Node* copy = graph_.Append(node->op(), operands, node->attrs(), {node->shape()}, node);
      copy->set_name(node->name());
      copies[node] = copy;
      added.push_back(copy);
    }
    return copies.at(chain.back());
  }

  Graph& graph_;
  FusionGroups& groups_;
  const FusionGroup& producer_;
  std::vector<FusionGroup*> readers_;  // in the order of the graph
  absl::flat_hash_map<FusionGroup*, absl::flat_hash_map<const Node*, Node*>> copies_;
  absl::flat_hash_map<FusionGroup*, std::vector<Node*>> added_;
};

// False for sizes that are not known.
bool IsLarge(const FusionGroup& group, int64_t least_bytes) {
  int64_t bytes = ir::DTypeBytes(group.nodes.front()->shape().dtype());
  for (const ir::Dim& d : group.space) {
    if (!d.is_constant()) return false;
    bytes *= d.value();
  }
  return bytes >= least_bytes;
}

void Recompute(Graph& graph, FusionGroups& groups, FusionGroup& group) {
  if (group.kind == FusionKind::kReduce || !IsInPlaceKind(group)) return;
  Producer producer(groups, group);
  const auto leaves = [&](const Node* n) { return producer.IsWhole(*n) && producer.Leaves(*n); };
  const auto written = std::count_if(group.nodes.begin(), group.nodes.end(), leaves);
  if (written < (group.kind == FusionKind::kLoop ? 1 : 2)) return;
  const Node* stored = nullptr;
  int gain = producer.PlanWith(nullptr).gain;
  for (const Node* node : group.nodes) {
    if (!producer.IsWhole(*node) || producer.Leaves(*node)) continue;
    const int with = producer.PlanWith(node).gain;
    // Of equal ones the last, from which readers have the least to compute.
    if (with < gain || (with == gain && stored == nullptr)) continue;
    gain = with;
    stored = node;
  }
  if (gain <= 0) return;
  const Producer::Plan plan = producer.PlanWith(stored);
  std::vector<std::vector<Node*>> chains;
  for (const Node* value : plan.again) chains.push_back(producer.Chain(value));
  Copies copies(graph, groups, group);
  for (const std::vector<Node*>& chain : chains) copies.Replace(chain);
  copies.Finish();
  groups.EraseDead(group);
}

}  // namespace

void FusionGroups::AddNodes(FusionGroup& group, absl::Span<Node* const> nodes) {
  for (Node* node : nodes) group_of_[node] = &group;
  group.nodes.insert(group.nodes.begin(), nodes.begin(), nodes.end());
}

void FusionGroups::EraseDead(FusionGroup& group) {
  std::vector<Node*> kept;
  for (auto it = group.nodes.rbegin(); it != group.nodes.rend(); ++it) {
    Node* node = *it;
    if (!node->IsDead()) {
      kept.push_back(node);
      continue;
    }
    group_of_.erase(node);
    graph_.Erase(node);
  }
  group.nodes.assign(kept.rbegin(), kept.rend());
  if (kept.empty()) Unlink(group);
}

// What read the group reads what it read.
void FusionGroups::Unlink(FusionGroup& group) {
  for (FusionGroup* producer : group.producers) {
    producer->consumers.erase(&group);
    producer->consumers.insert(group.consumers.begin(), group.consumers.end());
  }
  for (FusionGroup* consumer : group.consumers) {
    consumer->producers.erase(&group);
    consumer->producers.insert(group.producers.begin(), group.producers.end());
  }
  group.producers.clear();
  group.consumers.clear();
}

void RecomputeInReaders(Graph& graph, FusionGroups& groups, int64_t least_bytes) {
  for (FusionGroup* group : groups.InOrder()) {
    if (IsLarge(*group, least_bytes)) Recompute(graph, groups, *group);
  }
}

}  // namespace tektite::passes
