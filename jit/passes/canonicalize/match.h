// The predicates of the rules: constants behind broadcasts, producers, how a reshape splits.
//
//   if (Node* exp = OnlyProducer(node->operand(0), Op::kExp)) ...
//   if (IsSplat(node->operand(1), 1)) return node->operand(0);      // x * 1
//
// Limits: symbolic sizes are equal only where that is provable.
#ifndef TEKTITE_JIT_PASSES_CANONICALIZE_MATCH_H_
#define TEKTITE_JIT_PASSES_CANONICALIZE_MATCH_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "jit/base/lists.h"
#include "jit/ir/graph.h"
#include "jit/ops/builder.h"
#include "jit/ops/ops.h"
#include "jit/passes/names.h"

namespace tektite::passes::rules {

using Ints = std::vector<int64_t>;

// The node that makes `value` if it is an `op`, otherwise null.
inline Node* Producer(Value value, Op op) {
  return value.node->op() == op && value.index == 0 ? value.node : nullptr;
}
// The same, and nothing else uses it: rewriting it away saves its work.
Node* OnlyProducer(Value value, Op op);

// The literal of a constant node, otherwise null.
const Literal* ConstantOf(Value value);
// The one scalar that every element is, known at compile time; looks through broadcasts and
// reshapes.
std::optional<Literal> SplatOf(Value value);
bool IsSplat(Value value, double scalar);
// Like IsSplat for zero, with the sign: x + -0 is x for every x, x + 0 is not.
bool IsSplatZero(Value value, bool negative);
// `scalar` in every element of an array with those dimensions.
Value SplatTo(FuncBuilder& b, const Literal& scalar, const Dims& dims);
// Zero, of the shape of `like`.
Value ZeroLike(FuncBuilder& b, Value like);

inline bool IsOne(const Dim& d) { return d.is_constant() && d.value() == 1; }
inline bool IsZero(const Dim& d) { return d.is_constant() && d.value() == 0; }
// Provably a <= b.
bool AtMost(const Dim& a, const Dim& b);

// 0, 1, ..., n - 1.
Ints Range(int64_t n);
// dims[i] for i in `indices`.
Dims Select(const Dims& dims, absl::Span<const int64_t> indices);
// The numbers of [0, rank) that are not in `values`, ascending.
Ints Complement(int rank, absl::Span<const int64_t> values);
// Where dimension d of an array stands after the (ascending) dimensions `removed` are gone.
int64_t IndexAfterRemoving(int64_t d, absl::Span<const int64_t> removed);
// The attribute's values, one for each dimension of the first operand; `otherwise` for an absent
// one.
Ints PerDimension(const Node& node, Attr attr, int64_t otherwise);
Dims WithoutOnes(const Dims& dims);
// The dimensions that are not of size 1, ascending.
Ints NonUnitDims(const Dims& dims);

// A reshape that inserts and removes dimensions of size 1 and does nothing else.
bool IsDegenerateReshape(const Dims& from, const Dims& to);
// For each dimension of `to`, the dimension of `from` with the same size and the same elements
// before and after it, or -1: a reshape [2,3,4] -> [6,4] keeps the last one only, {-1, 2}.
Ints KeptDimensions(const Dims& from, const Dims& to);

// A convolution's attributes with their defaults, nullopt where they contradict each other.
std::optional<ops::ConvDims> ConvolutionDims(const Node& convolution);
// One tap that is multiplied with elements of the input as they are: no padding, no dilated input,
// no groups.  Strides may skip some.
bool IsOfOneTap(const Node& convolution, const ops::ConvDims& dims);

}  // namespace tektite::passes::rules

#endif  // TEKTITE_JIT_PASSES_CANONICALIZE_MATCH_H_
