// spread_positions: causal masks that attention reads from memory, worked out where they are used.
//
//   before  %late: bool[6,6] = compare(iota, iota)  %m: bool[2,3,6,6] = broadcast_in_dim(%late)
//           select(%m, ...) in attention's logits
//   after   %m: bool[2,3,6,6] = compare(iota, iota)     of the logits' own shape
//
// A back end's kernel then sees which keys no row attends to (jit/ops/logit_form.h), and reads no
// mask.  What depends on positions alone is a comparison, sum, choice or truth value of iotas,
// running sums of ones, and constants that are triangles of two values, however it is broadcast.
//
// For attention in the narrow types that a back end has kernels for.
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "jit/ops/attention.h"
#include "jit/passes/names.h"
#include "jit/passes/pass.h"

namespace tektite::passes {
namespace {

// More is no mask.
constexpr int kMostNodes = 24;

// A matrix, the same for all that comes before its two dimensions, of one value up to `offset`
// beyond the diagonal and of another one behind it.
struct Triangle {
  int64_t offset;
  double seen, late;
};
std::optional<Triangle> TriangleOf(const Literal& literal) {
  const std::vector<int64_t>& sizes = literal.sizes();
  if (sizes.size() < 2 || literal.num_elements() == 0) return std::nullopt;
  const int64_t rows = sizes[sizes.size() - 2], keys = sizes.back();
  if (rows < 2 || keys < 2) return std::nullopt;
  Triangle t = {0, literal.AsDouble((rows - 1) * keys), literal.AsDouble(keys - 1)};
  while (t.offset < keys && literal.AsDouble(t.offset) == t.seen) ++t.offset;
  --t.offset;
  if (t.seen == t.late) return std::nullopt;
  for (int64_t i = 0; i < literal.num_elements(); ++i) {
    const int64_t row = i / keys % rows, key = i % keys;
    if (literal.AsDouble(i) != (key <= row + t.offset ? t.seen : t.late)) return std::nullopt;
  }
  return t;
}

class Spreader {
 public:
  // Nodes are made before `user`.
  Spreader(Graph& graph, const Shape& space, Node* user)
      : graph_(graph), space_(space), user_(user) {}

  // `v` as it is broadcast to the space, its dimension i to `places[i]`; none where it depends on
  // more than positions.
  Value Spread(Value v, const std::vector<int>& places) {
    if (++nodes_ > kMostNodes) return {};
    const Node& node = *v.node;
    switch (node.op()) {
      case Op::kIota: {
        const auto dimension = static_cast<size_t>(node.Int(Attr::dimension));
        // One element is number 0 for all that it is broadcast to.
        if (v.shape().dim(static_cast<int>(dimension)) == Dim(1)) return Full(v.dtype(), 0);
        return Iota(v.dtype(), places[dimension]);
      }
      case Op::kConstant:
        return Constant(node, places);
      case Op::kCumulative:
        return RunningSum(node, places);
      case Op::kBroadcastInDim: {
        std::vector<int> inner;
        for (int64_t d : node.Ints(Attr::dimensions)) {
          inner.push_back(places[static_cast<size_t>(d)]);
        }
        return Spread(node.operand(0), inner);
      }
      case Op::kReshape:
        return Reshaped(node, places);
      case Op::kAdd:
      case Op::kAnd:
      case Op::kCompare:
      case Op::kConvert:
      case Op::kMul:
      case Op::kNot:
      case Op::kOr:
      case Op::kSelect:
      case Op::kSub: {
        std::vector<Value> operands;
        for (Value operand : node.operands()) {
          operands.push_back(Spread(operand, places));
          if (!operands.back()) return {};
        }
        return Append(node.op(), operands, node.attrs(), v.dtype());
      }
      default:
        return {};
    }
  }

 private:
  Value Append(Op op, const std::vector<Value>& operands, ir::Attributes attrs, DType dtype) {
    return graph_.Append(op, operands, std::move(attrs), {Shape(dtype, space_.dims())}, user_)
        ->result();
  }
  Value Iota(DType dtype, int dimension) {
    return Append(Op::kIota, {},
                  {{Attr::dtype, dtype},
                   {Attr::shape, space_.dims()},
                   {Attr::dimension, static_cast<int64_t>(dimension)}},
                  dtype);
  }
  Value Full(DType dtype, double value) {
    Node* const scalar =
        graph_.Append(Op::kConstant, {}, {{Attr::value, Literal::ScalarOf(dtype, value)}},
                      {Shape(dtype, ir::Dims())}, user_);
    return Append(Op::kBroadcastInDim, {scalar->result()},
                  {{Attr::dimensions, std::vector<int64_t>()}, {Attr::shape, space_.dims()}},
                  dtype);
  }

  Value Constant(const Node& node, const std::vector<int>& places) {
    const Literal& literal = node.attrs().GetLiteral(Attr::value);
    if (literal.num_elements() > 0 && literal.IsSplat()) {
      return Full(literal.dtype(), literal.AsDouble(0));
    }
    const std::optional<Triangle> t = TriangleOf(literal);
    if (!t.has_value()) return {};
    const size_t rank = places.size();
    const Value row = Iota(DType::kS32, places[rank - 2]);
    const Value key = Iota(DType::kS32, places[rank - 1]);
    const Value last =
        Append(Op::kAdd, {row, Full(DType::kS32, static_cast<double>(t->offset))}, {}, DType::kS32);
    const DType dtype = literal.dtype();
    const bool is_reversed = dtype == DType::kBool && t->seen == 0;
    const Value seen =
        Append(Op::kCompare, {last, key},
               {{Attr::direction, std::string(is_reversed ? "lt" : "ge")}}, DType::kBool);
    if (dtype == DType::kBool) return seen;
    return Append(Op::kSelect, {seen, Full(dtype, t->seen), Full(dtype, t->late)}, {}, dtype);
  }

  // Of ones: a position, counted from 1.
  Value RunningSum(const Node& node, const std::vector<int>& places) {
    Value v = node.operand(0);
    while (v.node->op() == Op::kBroadcastInDim || v.node->op() == Op::kReshape) {
      v = v.node->operand(0);
    }
    if (node.String(Attr::reducer) != "add" || node.attrs().Bool(Attr::exclusive) ||
        node.attrs().Bool(Attr::reverse) || !ir::IsInteger(v.dtype()) ||
        v.node->op() != Op::kConstant || !v.node->attrs().GetLiteral(Attr::value).IsAll(1)) {
      return {};
    }
    const auto dimension = static_cast<size_t>(node.Int(Attr::dimension));
    const Value one = Full(v.dtype(), 1);
    if (node.shape().dim(static_cast<int>(dimension)) == Dim(1)) return one;
    return Append(Op::kAdd, {Iota(v.dtype(), places[dimension]), one}, {}, v.dtype());
  }

  // One that only adds or removes dimensions of size 1.
  Value Reshaped(const Node& node, const std::vector<int>& places) {
    const Shape &from = node.operand_shape(0), &to = node.shape();
    std::vector<int> inner(static_cast<size_t>(from.rank()), 0);
    int next = 0;
    for (int i = 0; i < from.rank(); ++i) {
      if (from.dim(i) == Dim(1)) continue;
      while (next < to.rank() && to.dim(next) == Dim(1)) ++next;
      if (next == to.rank() || to.dim(next) != from.dim(i)) return {};
      inner[static_cast<size_t>(i)] = places[static_cast<size_t>(next++)];
    }
    while (next < to.rank() && to.dim(next) == Dim(1)) ++next;
    return next == to.rank() ? Spread(node.operand(0), inner) : Value();
  }

  Graph& graph_;
  const Shape space_;
  Node* const user_;
  int nodes_ = 0;
};

// The elementwise work on the scores, with the broadcasts that it reads.
bool SpreadMasks(Graph& graph, const ops::Attention& attention) {
  bool changed = false;
  std::vector<Node*> stack = {attention.logits.node};
  std::set<const Node*> seen = {attention.logits.node};
  while (!stack.empty() && static_cast<int>(seen.size()) <= kMostNodes) {
    Node* const node = stack.back();
    stack.pop_back();
    if (node == attention.scores || !ir::IsElementwise(node->op())) continue;
    for (int i = 0; i < node->num_operands(); ++i) {
      const Value v = node->operand(i);
      if (v.shape().dims() != attention.logits.shape().dims()) continue;
      const bool is_constant = v.node->op() == Op::kConstant;
      if (v.node->op() != Op::kBroadcastInDim && !is_constant) {
        if (seen.insert(v.node).second) stack.push_back(v.node);
        continue;
      }
      const Value source = is_constant ? v : v.node->operand(0);
      // What is uniform, or a position, is nothing to read.
      if (source.node->op() == Op::kIota || source.shape().rank() == 0) continue;
      std::vector<int> places;
      for (int d = 0; d < source.shape().rank(); ++d) {
        const auto at = static_cast<size_t>(d);
        places.push_back(is_constant ? d : static_cast<int>(v.node->Ints(Attr::dimensions)[at]));
      }
      const Value spread = Spreader(graph, attention.logits.shape(), node).Spread(source, places);
      if (!spread) continue;
      node->SetOperand(i, spread);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> SpreadPositions(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph.NodeList()) {
    if (node->op() != Op::kDotGeneral || node->shape().dtype() == DType::kF32 ||
        !context.target.Attends(node->shape().dtype())) {
      continue;
    }
    if (const auto attention = ops::FindAttention(node)) changed |= SpreadMasks(graph, *attention);
  }
  return changed;
}

}  // namespace tektite::passes
