#include "jit/passes/canonicalize/match.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "jit/ir/symbols.h"

namespace tektite::passes::rules {

Node* OnlyProducer(Value value, Op op) {
  Node* node = Producer(value, op);
  return node && node->HasOneUse() ? node : nullptr;
}

const Literal* ConstantOf(Value value) {
  Node* node = Producer(value, Op::kConstant);
  return node ? &node->attrs().GetLiteral(Attr::value) : nullptr;
}

std::optional<Literal> SplatOf(Value value) {
  Node* node = value.node;
  while (node->op() == Op::kBroadcastInDim || node->op() == Op::kReshape) {
    node = node->operand(0).node;
  }
  if (node->op() != Op::kConstant) return std::nullopt;
  const Literal& literal = node->attrs().GetLiteral(Attr::value);
  if (!literal.IsSplat()) return std::nullopt;
  return Literal::CopyOf(literal.dtype(), {}, literal.raw());
}

bool IsSplat(Value value, double scalar) {
  std::optional<Literal> splat = SplatOf(value);
  return splat && splat->IsAll(scalar);
}

bool IsSplatZero(Value value, bool negative) {
  std::optional<Literal> splat = SplatOf(value);
  return splat && splat->IsAll(0) && std::signbit(splat->AsDouble(0)) == negative;
}

Value SplatTo(FuncBuilder& b, const Literal& scalar, const Dims& dims) {
  Value constant = b.Constant(scalar);
  return dims.empty() ? constant : b.BroadcastInDim(constant, dims, {});
}

Value ZeroLike(FuncBuilder& b, Value like) {
  return SplatTo(b, Literal::ScalarOf(like.dtype(), 0), like.shape().dims());
}

bool AtMost(const Dim& a, const Dim& b) { return ir::NeverLess(b, a); }

Ints Range(int64_t n) {
  Ints range(n);
  std::iota(range.begin(), range.end(), 0);
  return range;
}

Dims Select(const Dims& dims, absl::Span<const int64_t> indices) {
  Dims selected;
  for (int64_t i : indices) selected.push_back(dims[i]);
  return selected;
}

Ints Complement(int rank, absl::Span<const int64_t> values) {
  Ints rest;
  for (int i = 0; i < rank; ++i) {
    if (!Contains(values, i)) rest.push_back(i);
  }
  return rest;
}

int64_t IndexAfterRemoving(int64_t d, absl::Span<const int64_t> removed) {
  return d - std::count_if(removed.begin(), removed.end(), [&](int64_t r) { return r < d; });
}

Ints PerDimension(const Node& node, Attr attr, int64_t otherwise) {
  const Ints& values = node.Ints(attr);
  return values.empty() ? Ints(node.operand_shape(0).rank(), otherwise) : values;
}

Dims WithoutOnes(const Dims& dims) { return Select(dims, NonUnitDims(dims)); }

Ints NonUnitDims(const Dims& dims) {
  Ints result;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!IsOne(dims[i])) result.push_back(i);
  }
  return result;
}

bool IsDegenerateReshape(const Dims& from, const Dims& to) {
  return WithoutOnes(from) == WithoutOnes(to);
}

Ints KeptDimensions(const Dims& from, const Dims& to) {
  Ints kept(to.size(), -1);
  if (std::any_of(from.begin(), from.end(), IsZero)) return kept;
  // Dimension j of `to` is dimension i of `from` if the sizes are equal and so are the products of
  // what stands before: then so are the products of what stands after.
  Dim before_to = 1;
  for (size_t j = 0; j < to.size(); ++j) {
    Dim before_from = 1;
    for (size_t i = 0; i < from.size(); ++i) {
      if (!IsOne(to[j]) && from[i] == to[j] && before_from == before_to) kept[j] = i;
      before_from = before_from * from[i];
    }
    before_to = before_to * to[j];
  }
  return kept;
}

std::optional<ops::ConvDims> ConvolutionDims(const Node& convolution) {
  absl::StatusOr<ops::ConvDims> dims =
      ops::GetConvDims(convolution.shape().rank(), convolution.attrs());
  if (!dims.ok()) return std::nullopt;
  return *std::move(dims);
}

bool IsOfOneTap(const Node& convolution, const ops::ConvDims& dims) {
  return dims.feature_groups == 1 && dims.batch_groups == 1 && AllAre(dims.low, 0) &&
         AllAre(dims.high, 0) && AllAre(dims.lhs_dilation, 1) &&
         std::all_of(dims.kernel_spatial.begin(), dims.kernel_spatial.end(), [&](int64_t d) {
           return IsOne(convolution.operand_shape(1).dim(static_cast<int>(d)));
         });
}

}  // namespace tektite::passes::rules
