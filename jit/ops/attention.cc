#include "jit/ops/attention.h"

#include <algorithm>
#include <set>

#include "jit/base/status.h"
#include "jit/ops/names.h"
#include "jit/ops/ops.h"

namespace tektite::ops {
namespace {

// Elementwise work between the product and the softmax; more is no mask.
constexpr int kMostLogitNodes = 32;

Node* Producer(Value v, Op op) { return v.node->op() == op ? v.node : nullptr; }

// The dimensions that are not 1.
std::vector<int> Kept(const Shape& shape) {
  std::vector<int> kept;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) != Dim(1)) kept.push_back(i);
  }
  return kept;
}

// A reshape that moves nothing but dimensions of size 1.
bool MovesOnes(const Node& reshape) {
  const Shape &from = reshape.operand_shape(0), &to = reshape.shape();
  const std::vector<int> a = Kept(from), b = Kept(to);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](int i, int j) { return from.dim(i) == to.dim(j); });
}

// The value of a row that `v` repeats along the last dimension of its shape; the nodes that do so
// are added to `along`.  Null if `v` is anything else.
Value SpreadRowValue(Value v, std::vector<Node*>* along) {
  const Shape& full = v.shape();
  Node* broadcast = Producer(v, Op::kBroadcastInDim);
  if (broadcast == nullptr) return {};
  along->push_back(broadcast);
  // Where the dimensions of the value that are not 1 end up.
  std::vector<int> places;
  for (int i : Kept(broadcast->operand_shape(0))) {
    places.push_back(static_cast<int>(broadcast->Ints(Attr::dimensions)[i]));
  }
  Value source = broadcast->operand(0);
  while (Node* reshape = Producer(source, Op::kReshape)) {
    if (!MovesOnes(*reshape)) return {};
    along->push_back(reshape);
    source = reshape->operand(0);
  }
  std::vector<int> wanted = Kept(full);
  if (!wanted.empty() && wanted.back() == full.rank() - 1) wanted.pop_back();
  if (places != wanted || source.shape().rank() != full.rank() - 1) return {};
  for (int i = 0; i + 1 < full.rank(); ++i) {
    if (source.shape().dim(i) != full.dim(i)) return {};
  }
  return source;
}

// A reduction of the last dimension alone.
Value RowReduced(Value v, const char* reducer) {
  const Node* reduce = Producer(v, Op::kReduce);
  if (reduce == nullptr || reduce->num_regions() > 0 || reduce->num_operands() != 1 ||
      reduce->String(Attr::reducer) != reducer) {
    return {};
  }
  const std::vector<int64_t> last = {reduce->operand_shape(0).rank() - 1};
  return reduce->Ints(Attr::dimensions) == last ? reduce->operand(0) : Value();
}

bool IsOne(Value v) {
  while (v.node->op() == Op::kBroadcastInDim || v.node->op() == Op::kReshape) {
    v = v.node->operand(0);
  }
  const Node* constant = Producer(v, Op::kConstant);
  if (constant == nullptr) return false;
  const ir::Literal& literal = constant->attrs().GetLiteral(Attr::value);
  for (int64_t i = 0; i < literal.num_elements(); ++i) {
    if (literal.AsDouble(i) != 1) return false;
  }
  return literal.num_elements() > 0;
}

// `weights` as exp(logits - max) over its sum: fills logits and softmax.
bool MatchSoftmax(Value weights, Attention* a) {
  std::vector<Node*>& along = a->softmax;
  along.push_back(weights.node);
  if (weights.node->num_operands() != 2) return false;
  Value e = weights.node->operand(0), spread = weights.node->operand(1);
  Value sum;
  if (weights.node->op() == Op::kDiv) {
    sum = SpreadRowValue(spread, &along);
  } else if (weights.node->op() == Op::kMul) {
    if (e.node->op() != Op::kExp) std::swap(e, spread);
    Value inverse = SpreadRowValue(spread, &along);
    if (!inverse || inverse.node->op() != Op::kDiv || !IsOne(inverse.node->operand(0))) {
      return false;
    }
    along.push_back(inverse.node);
    sum = inverse.node->operand(1);
  }
  if (!sum || RowReduced(sum, "add") != e || e.node->op() != Op::kExp) return false;
  along.push_back(sum.node);
  along.push_back(e.node);
  const Node* shifted = Producer(e.node->operand(0), Op::kSub);
  if (shifted == nullptr) return false;
  along.push_back(e.node->operand(0).node);
  a->logits = shifted->operand(0);
  Value max = SpreadRowValue(shifted->operand(1), &along);
  if (!max || RowReduced(max, "max") != a->logits) return false;
  along.push_back(max.node);
  return true;
}

// The one product among the nodes that the logits depend on, elementwise.
Node* FindScores(Value logits) {
  Node* scores = nullptr;
  std::vector<Node*> stack = {logits.node};
  std::set<const Node*> seen = {logits.node};
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    if (static_cast<int>(seen.size()) > kMostLogitNodes) return nullptr;
    if (node->op() == Op::kDotGeneral) {
      if (scores != nullptr) return nullptr;
      scores = node;
      continue;
    }
    if (!ir::IsElementwise(node->op())) continue;
    for (Value v : node->operands()) {
      if (v.shape().dims() == logits.shape().dims() && seen.insert(v.node).second) {
        stack.push_back(v.node);
      }
    }
  }
  return scores;
}

bool CountsUp(const std::vector<int64_t>& dims) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

std::optional<Attention> FindAttention(Node* context) {
  const DType dtype = context->shape().dtype();
  const bool is_narrow = dtype == DType::kF16 || dtype == DType::kBF16;
  if (context->op() != Op::kDotGeneral || (dtype != DType::kF32 && !is_narrow)) {
    return std::nullopt;
  }
  Attention a;
  a.context = context;
  Value weights = context->operand(0);
  if (is_narrow) {
    const Node* convert = Producer(weights, Op::kConvert);
    if (convert == nullptr) return std::nullopt;
    a.softmax.push_back(weights.node);
    weights = convert->operand(0);
  }
  const DotDims after = GetDotDims(*context);
  const int last = context->operand_shape(0).rank() - 1;
  if (after.lhs_contracting != std::vector<int64_t>{last} || after.rhs_free.size() != 1 ||
      !CountsUp(after.lhs_batch) || weights.dtype() != DType::kF32 || !MatchSoftmax(weights, &a)) {
    return std::nullopt;
  }
  a.scores = FindScores(a.logits);
  if (a.scores == nullptr || a.scores->shape().dtype() != dtype ||
      a.scores->shape().dims() != a.logits.shape().dims()) {
    return std::nullopt;
  }
  const DotDims before = GetDotDims(*a.scores);
  if (before.lhs_contracting.size() != 1 || before.rhs_free.size() != 1 ||
      before.lhs_batch.size() != after.lhs_batch.size()) {
    return std::nullopt;
  }
  a.batch_dims = static_cast<int>(before.lhs_batch.size());
  a.result = context;
  return a;
}

absl::StatusOr<Attention> AttentionOf(const ir::Graph& region) {
  std::optional<Attention> found;
  for (const auto& node : region.nodes()) {
    if (auto attention = FindAttention(node.get())) found = std::move(attention);
  }
  if (!found.has_value()) return Unimplemented("an attention fusion of another form");
  const Node& context = *found->context;
  if (region.outputs().size() != 1) return Unimplemented(context.Describe(), ": several results");
  found->result = region.outputs()[0].node;
  if (found->result != &context &&
      (found->result->op() != Op::kTranspose || found->result->operand(0).node != &context)) {
    return Unimplemented(found->result->Describe(), " after attention");
  }
  return *std::move(found);
}

}  // namespace tektite::ops
