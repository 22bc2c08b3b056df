// Computes nodes that depend on constants alone.
//
//   %0 = constant() f32[2]{1, 2}
//   %1 = neg(%0)                        ->    %0 = constant() f32[2]{-1, -2}
//
// Broadcasts and iotas are cheap to compute and large to keep, so they are folded into their
// readers and never by themselves.  A result may have up to kMaxElements elements, or fewer bytes
// than its operands.  Results that depend on weights alone are larger and belong to hoisting.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "jit/base/status.h"
#include "jit/passes/names.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

constexpr int64_t kMaxElements = 64 << 10;
// The interpreter runs some 10^7 simple operations a second: keep one fold below a tenth of that.
constexpr int64_t kMaxWork = 1 << 20;

// Produces many elements from few: read through, never stored.
bool IsExpansion(Op op) { return op == Op::kBroadcastInDim || op == Op::kIota; }

bool IsSmall(const ir::Shape& shape) {
  return shape.is_static() && shape.num_elements() <= kMaxElements;
}

bool MayFold(const Node& node) {
  switch (node.op()) {
    case Op::kCall:
    case Op::kConditional:
    case Op::kConstant:
    case Op::kFusion:
    case Op::kParameter:
    case Op::kSizeValue:
    case Op::kWhile:
      return false;
    default:
      return !IsExpansion(node.op());
  }
}

// Elements read times operations for each, roughly.
int64_t Work(const Node& node) {
  int64_t work = 0;
  for (const ir::Shape& shape : node.shapes()) work += shape.num_elements();
  for (Value v : node.operands()) work += v.shape().num_elements();
  const ir::OpFamily family = ir::GetOpInfo(node.op()).family;
  if (family == ir::OpFamily::spectrum) {
    return work * std::max<int64_t>(1, node.shape().dim(node.Int(Attr::dimension)).value());
  }
  if (family == ir::OpFamily::matrix) {
    return work * std::max<int64_t>(1, 16 * node.operand_shape(0).dims().back().value());
  }
  switch (node.op()) {
    case Op::kGather:
    case Op::kSlice:
      return node.shape().num_elements();
    case Op::kConvolution:
      return node.shape().num_elements() *
             std::max<int64_t>(1, node.operand_shape(1).num_elements());
    case Op::kDotGeneral:
      for (int64_t d : node.Ints(Attr::lhs_contracting)) {
        work = std::max<int64_t>(work, node.shape().num_elements()) *
               std::max<int64_t>(1, node.operand_shape(0).dim(d).value());
      }
      return work;
    default:
      return work;
  }
}

// Copies constants and the expansions of constants that `value` is made of; a null Value if it
// depends on anything else.
class ConstantTree {
 public:
  explicit ConstantTree(Graph* into) : into_(into) {}

  Value Copy(Value value) {
    auto it = copies_.find(value);
    if (it != copies_.end()) return it->second;
    Node& node = *value.node;
    const bool expands = IsExpansion(node.op()) && IsSmall(node.shape());
    if (node.op() != Op::kConstant && !expands) return Value();
    std::vector<Value> operands;
    for (Value operand : node.operands()) {
      operands.push_back(Copy(operand));
      if (!operands.back()) return Value();
    }
    if (node.op() == Op::kConstant) constant_bytes_ += node.shape().num_bytes();
    Node* copy = into_->Append(node.op(), operands, node.attrs(), {node.shape()});
    return copies_[value] = copy->result();
  }
  int64_t constant_bytes() const { return constant_bytes_; }

 private:
  Graph* into_;
  absl::flat_hash_map<Value, Value> copies_;
  int64_t constant_bytes_ = 0;
};

// True if the node's results became constants.
absl::StatusOr<bool> FoldNode(Node* node, PassContext& context) {
  if (!MayFold(*node) || node->num_operands() == 0 || node->IsDead()) return false;
  for (Value v : node->operands()) {
    const Op op = v.node->op();
    if ((op != Op::kConstant && !IsExpansion(op)) || !v.shape().is_static()) return false;
  }
  int64_t result_bytes = 0, result_elements = 0;
  for (const ir::Shape& shape : node->shapes()) {
    if (!shape.is_static()) return false;
    result_bytes += shape.num_bytes();
    result_elements += shape.num_elements();
  }
  if (Work(*node) > kMaxWork) return false;

  Graph graph("fold");
  ConstantTree tree(&graph);
  std::vector<Value> operands;
  for (Value v : node->operands()) {
    operands.push_back(tree.Copy(v));
    if (!operands.back()) return false;
  }
  if (result_elements > kMaxElements && result_bytes > tree.constant_bytes()) return false;
  graph.SetOutputs(graph.AppendCopy(*node, operands)->results());

  TEKTITE_ASSIGN_OR_RETURN(const std::vector<Literal> values, context.evaluate(graph, {}));
  for (int i = 0; i < node->num_results(); ++i) {
    ir::Attributes attrs;
    attrs.Set(Attr::value, values[i]);
    Node* constant = node->graph()->Append(Op::kConstant, {}, attrs, {node->shape(i)}, node);
    constant->set_name(node->name());
    node->graph()->ReplaceAllUses(node->result(i), constant->result());
  }
  node->graph()->Erase(node);
  return true;
}

absl::StatusOr<bool> FoldIn(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph.NodeList()) {
    if (node->op() != Op::kFusion) {
      for (int i = 0; i < node->num_regions(); ++i) {
        TEKTITE_ASSIGN_OR_RETURN(const bool inside, FoldIn(node->region(i), context));
        changed |= inside;
      }
    }
    TEKTITE_ASSIGN_OR_RETURN(const bool folded, FoldNode(node, context));
    changed |= folded;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> FoldConstants(Graph& graph, PassContext& context) {
  if (!context.evaluate) return false;
  return FoldIn(graph, context);
}

}  // namespace tektite::passes
