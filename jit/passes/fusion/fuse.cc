// fuse: turns the graph into kernels, one `fusion` node each.  fusion_groups.h says which nodes go
// together; this file builds the fusions.
//
//   before  %1 = add(%x, %bias_b)  %2 = tanh(%1)
//   after   %1 = fusion(%x, %bias) {kind = loop} region { ... }
//
// Afterwards the graph holds parameters, constants, values of sizes, fusions, reshapes, which are
// views, and loops and choices, whose regions hold the same.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/base/status.h"
#include "jit/ir/control.h"
#include "jit/passes/fusion/fusion_groups.h"
#include "jit/passes/fusion/fusion_recompute.h"
#include "jit/passes/names.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

class FusionBuilder {
 public:
  FusionBuilder(Graph& graph, const PassContext& context)
      : graph_(graph), groups_(graph, context), recomputed_bytes_(context.recomputed_bytes) {}

  bool Run() {
    RecomputeInReaders(graph_, groups_, recomputed_bytes_);
    std::vector<FusionGroup*> order = groups_.InOrder();
    if (order.empty()) return false;
    for (FusionGroup* group : order) Build(*group);
    std::vector<Value> outputs;
    for (Value v : graph_.outputs()) outputs.push_back(Outside(v));
    graph_.SetOutputs(outputs);
    graph_.EraseDead();
    return true;
  }

 private:
  // The value outside of any fusion that stands for `v` of the old graph.
  Value Outside(Value v) {
    auto it = outside_.find(v);
    if (it != outside_.end()) return it->second;
    if (v.node->op() == Op::kParameter || v.node->op() == Op::kConstant) return v;
    if (v.node->op() == Op::kSizeValue) return v;
    std::vector<Value> operands;
    for (Value operand : v.node->operands()) operands.push_back(Outside(operand));
    if (v.node->op() == Op::kReshape || groups_.IsView(v.node)) {
      return outside_[v] = graph_.AppendCopy(*v.node, operands)->result();
    }
    // A broadcast or iota that some view reads from memory after all: a kernel of its own.
    auto region = std::make_unique<Graph>("fused");
    std::vector<Value> inside;
    for (Value operand : operands) inside.push_back(region->AddParameter(operand.shape()));
    Node* copy = region->Append(v.node->op(), inside, v.node->attrs(), {v.shape()});
    region->SetOutputs({copy->result()});
    Node* fusion =
        graph_.AppendFusion(operands, {{Attr::kind, FusionKind::kLoop}}, std::move(region));
    fusion->set_name(v.node->name());
    return outside_[v] = fusion->result();
  }

  // A value computed by the group, perhaps seen through free nodes.
  bool ComesFrom(const FusionGroup& group, Value v) const {
    while (groups_.IsFree(v.node) && v.node->num_operands() == 1) v = v.node->operand(0);
    return groups_.GroupOf(v.node) == &group;
  }

  bool NeededOutside(const FusionGroup& group, Value v) const {
    if (v.node->IsOutput(v.index)) return true;
    for (const ir::Use& use : v.node->uses(v.index)) {
      if (groups_.IsFree(use.user)) {
        if (NeededOutside(group, Value{use.user, 0})) return true;
      } else if (groups_.GroupOf(use.user) != &group) {
        return true;
      }
    }
    return false;
  }

  struct Region {
    const FusionGroup* group;
    std::unique_ptr<Graph> graph = std::make_unique<Graph>("fused");
    absl::flat_hash_map<Value, Value> map, parameters;
    std::vector<Value> operands;
  };

  Value AddOperand(Region& r, Value v) {
    Value outside = Outside(v);
    r.operands.push_back(outside);
    return r.graph->AddParameter(v.shape(), v.node->name());
  }

  Value Inside(Region& r, Value v) {
    auto it = r.map.find(v);
    if (it != r.map.end()) return it->second;
    Node* node = v.node;
    const bool view = node->op() == Op::kReshape;
    if (groups_.IsFree(node) && (!view || ComesFrom(*r.group, v))) {
      std::vector<Value> operands;
      for (Value operand : node->operands()) operands.push_back(Inside(r, operand));
      return r.map[v] = r.graph->AppendCopy(*node, operands)->result();
    }
    return r.map[v] = AddOperand(r, v);
  }

  // A contraction's operands are its own: an epilogue that reads the same value has another.
  // Code that is not made for the region takes whatever it reads, constants too, from memory.
  static bool ReadsOwnOperands(const FusionGroup& group, const Node& node) {
    const ir::OpFamily family = ir::GetOpInfo(node.op()).family;
    if (family == ir::OpFamily::selection || family == ir::OpFamily::order) return true;
    if (family == ir::OpFamily::spectrum || family == ir::OpFamily::matrix) return true;
    if (group.kind == FusionKind::kAttention) return node.op() == Op::kDotGeneral;
    return &node == group.root && group.kind != FusionKind::kRow &&
           group.kind != FusionKind::kReduce;
  }

  // A loop or a choice stays one, on operands in memory.
  Node* BuildControl(Node& node) {
    std::vector<Value> operands;
    for (Value operand : node.operands()) operands.push_back(Outside(operand));
    Node* copy = graph_.AppendCopy(node, operands);
    for (int i = 0; i < node.num_results(); ++i) outside_[node.result(i)] = copy->result(i);
    return copy;
  }

  Node* Build(const FusionGroup& group) {
    if (ir::IsControl(*group.nodes.front())) return BuildControl(*group.nodes.front());
    Region r;
    r.group = &group;
    // Values of the group that leave it.
    std::vector<Value> leaving;
    for (Node* node : group.nodes) {
      std::vector<Value> operands;
      for (Value operand : node->operands()) {
        const bool in_memory =
            ReadsOwnOperands(group, *node) && groups_.GroupOf(operand.node) != &group;
        operands.push_back(in_memory ? AddOperand(r, operand) : Inside(r, operand));
      }
      Node* copy = r.graph->AppendCopy(*node, operands);
      for (int i = 0; i < node->num_results(); ++i) {
        r.map[node->result(i)] = copy->result(i);
        if (NeededOutside(group, node->result(i))) leaving.push_back(node->result(i));
      }
    }
    std::vector<Value> outputs;
    for (Value v : leaving) outputs.push_back(r.map.at(v));
    r.graph->SetOutputs(outputs);
    Node* fusion = graph_.AppendFusion(r.operands, {{Attr::kind, group.kind}}, std::move(r.graph));
    const Node* named = group.root != nullptr ? group.root : group.nodes.back();
    fusion->set_name(named->name());
    for (size_t i = 0; i < leaving.size(); ++i) {
      outside_[leaving[i]] = fusion->result(static_cast<int>(i));
    }
    return fusion;
  }

  Graph& graph_;
  FusionGroups groups_;
  const int64_t recomputed_bytes_;
  absl::flat_hash_map<Value, Value> outside_;
};

}  // namespace

absl::StatusOr<bool> Fuse(Graph& graph, PassContext& context) {
  graph.EraseDead();  // a group without users would be a kernel without results
  return FusionBuilder(graph, context).Run();
}

}  // namespace tektite::passes
