// fuse_leftovers: puts every node that is outside a fusion into one of its own.
//
//   before  %2 = add(%0, %1)
//   after   %2 = fusion(%0, %1) {kind = loop} of { add }
//
// After the fuse pass there is hardly any; with --disable_passes=fuse it is every op, which is how
// a kernel is tested alone.  Parameters, constants, reshapes, and parts of memory that are aligned
// as the back end wants them (TargetInfo::operand_alignment) stay as they are.
#include "jit/passes/fusion/fuse_leftovers.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "jit/ir/control.h"
#include "jit/ir/part.h"
#include "jit/passes/names.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

using ir::OpFamily;

bool StaysOutside(const Node& node, int64_t operand_alignment) {
  const Op op = node.op();
  return op == Op::kParameter || op == Op::kConstant || op == Op::kReshape || op == Op::kFusion ||
         op == Op::kSizeValue || ir::IsControl(node) || ir::IsPart(node, operand_alignment);
}

FusionKind KindOf(const Node& node) {
  switch (node.op()) {
    case Op::kReduce:
      return FusionKind::kReduce;
    case Op::kReduceWindow:
    case Op::kSelectAndScatter:
      return FusionKind::kWindow;
    case Op::kConvolution:
    case Op::kDotGeneral:
      return FusionKind::kContraction;
    case Op::kBroadcastInDim:
    case Op::kConcatenate:
    case Op::kDynamicSlice:
    case Op::kDynamicUpdateSlice:
    case Op::kGather:
    case Op::kIota:
    case Op::kPad:
    case Op::kReverse:
    case Op::kSlice:
    case Op::kTranspose:
      return FusionKind::kLoop;
    default:
      return ir::IsElementwise(node.op()) ? FusionKind::kLoop : FusionKind::kSingle;
  }
}

using NodeSet = absl::flat_hash_set<const Node*>;

class Wrapper {
 public:
  // Nodes in `along` go into the fusion of every node that reads them.
  Wrapper(Graph& graph, const NodeSet& along) : graph_(graph), along_(along) {}

  Node* Wrap(Node* node, ir::Attributes attrs) {
    region_->SetOutputs(Copy(node)->results());
    attrs.Set(ir::Attr::kind, KindOf(*node));
    Node* fusion = graph_.AppendFusion(operands_, std::move(attrs), std::move(region_), node);
    fusion->set_name(node->name());
    graph_.Replace(node, fusion->results());
    return fusion;
  }

 private:
  Node* Copy(Node* node) {
    std::vector<Value> inside;
    for (Value v : node->operands()) {
      if (along_.count(v.node) > 0) {
        inside.push_back(Copy(v.node)->result(v.index));
        continue;
      }
      operands_.push_back(v);
      inside.push_back(region_->AddParameter(v.shape()));
    }
    return region_->AppendCopy(*node, inside);
  }

  Graph& graph_;
  const NodeSet& along_;
  std::unique_ptr<Graph> region_ = std::make_unique<Graph>("fused");
  std::vector<Value> operands_;
};

bool IsContraction(Op op) { return op == Op::kConvolution || op == Op::kDotGeneral; }

bool IsFree(const Node& node) {
  return node.op() == Op::kBroadcastInDim || node.op() == Op::kIota ||
         (node.op() == Op::kConstant &&
          node.attrs().GetLiteral(ir::Attr::value).num_elements() == 1);
}

// The nodes that are no kernel of their own: those that unpack a contraction's panels, and
// broadcasts that no node reads from memory.  `nodes` are in topological order.
NodeSet GoAlong(const std::vector<Node*>& nodes, bool packed) {
  const NodeSet all(nodes.begin(), nodes.end());
  NodeSet along;
  for (Node* node : nodes) {
    if (!packed || !IsContraction(node->op())) continue;
    for (Node* n = node->operand(1).node; all.count(n) > 0 && n->op() != Op::kParameter;
         n = n->operand(0).node) {
      along.insert(n);
      if (n->num_operands() == 0) break;
    }
  }
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const auto& uses = (*it)->uses();
    if (IsFree(**it) && !(*it)->IsOutput() &&
        std::all_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
          return ir::IsElementwise(use.user->op()) ||
                 (IsFree(*use.user) && along.count(use.user) > 0);
        })) {
      along.insert(*it);
    }
  }
  return along;
}

// Where no pass has done so.
bool OpenCalls(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.NodeList()) {
    if (node->op() != Op::kCall) continue;
    OpenCalls(node->region());
    graph.Replace(node, graph.Inline(node->region(), node->operands(), node));
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> FuseLeftovers(Graph& graph, PassContext& context) {
  bool changed = OpenCalls(graph);
  for (Node* node : graph.NodeList()) {
    if (StaysOutside(*node, context.target.operand_alignment)) continue;
    changed = true;
    if (node->IsDead()) {
      graph.Erase(node);
    } else {
      Wrapper(graph, {}).Wrap(node, {});
    }
  }
  return changed;
}

std::vector<Node*> SplitFusion(Graph& graph, Node* fusion, int64_t operand_alignment) {
  const bool packed = fusion->attrs().Has(ir::Attr::rhs_packed);
  NodeSet along = GoAlong(fusion->region().NodeList(), packed);
  int ops = 0;
  for (const auto& node : fusion->region().nodes()) {
    ops += !StaysOutside(*node, operand_alignment) && along.count(node.get()) == 0;
  }
  if (ops < 2) return {};

  const std::vector<Node*> before = graph.NodeList();
  const NodeSet old(before.begin(), before.end());
  ir::Attributes attrs = fusion->attrs();
  const int64_t panel_width = fusion->Int(ir::Attr::rhs_packed);
  for (ir::Attr of_whole : {ir::Attr::rhs_packed, ir::Attr::rhs_panels, ir::Attr::in_place}) {
    attrs.Erase(of_whole);
  }
  graph.Replace(fusion, graph.Inline(fusion->region(), fusion->operands(), fusion));
  std::vector<Node*> copies;
  for (Node* node : graph.NodeList()) {
    if (old.count(node) == 0) copies.push_back(node);
  }
  along = GoAlong(copies, packed);
  std::vector<Node*> parts;
  for (Node* node : copies) {
    if (along.count(node) > 0 || node->IsDead()) continue;
    if (StaysOutside(*node, operand_alignment)) continue;
    ir::Attributes own = attrs;
    if (packed && IsContraction(node->op())) own.Set(ir::Attr::rhs_packed, panel_width);
    if (!IsContraction(node->op())) own.Erase(ir::Attr::schedule);
    parts.push_back(Wrapper(graph, along).Wrap(node, std::move(own)));
  }
  graph.EraseDead();
  return parts;
}

}  // namespace tektite::passes
