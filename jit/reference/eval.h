// The evaluation of one node, by family; private to jit/reference.
//
//   absl::StatusOr<Literals> results = EvalMovement({node, operands});
//
// Limits: verified static graphs; the interpreter (interpreter.h) substitutes sizes first.
#ifndef TEKTITE_JIT_REFERENCE_EVAL_H_
#define TEKTITE_JIT_REFERENCE_EVAL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/base/status.h"
#include "jit/ir/graph.h"

namespace tektite::reference {

using Literals = std::vector<ir::Literal>;

// One node with the values of its operands.  The graph was verified and is static, so operands and
// attributes fit and result shapes are right.
struct EvalContext {
  const ir::Node& node;
  absl::Span<const ir::Literal> operands;

  ir::Op op() const { return node.op(); }
  const ir::Literal& operand(int i) const { return operands[i]; }
  std::vector<int64_t> result_sizes(int i = 0) const { return node.shape(i).sizes(); }
  ir::Literal AllocateResult(int i = 0) const {
    return ir::Literal::Allocate(node.shape(i).dtype(), result_sizes(i));
  }
  // The attribute, or `otherwise` for each of `rank` dimensions when it is absent or empty.
  std::vector<int64_t> IntsPerDim(ir::Attr attr, int rank, int64_t otherwise) const {
    const std::vector<int64_t>& values = node.Ints(attr);
    return values.empty() ? std::vector<int64_t>(rank, otherwise) : values;
  }
};

absl::StatusOr<Literals> EvalElementwise(const EvalContext& c);
absl::StatusOr<Literals> EvalConvert(const EvalContext& c);
absl::StatusOr<Literals> EvalMovement(const EvalContext& c);
absl::StatusOr<Literals> EvalIndexed(const EvalContext& c);
absl::StatusOr<Literals> EvalReduction(const EvalContext& c);
absl::StatusOr<Literals> EvalContraction(const EvalContext& c);
absl::StatusOr<Literals> EvalOrder(const EvalContext& c);
absl::StatusOr<Literals> EvalSelection(const EvalContext& c);
absl::StatusOr<Literals> EvalSpectrum(const EvalContext& c);
absl::StatusOr<Literals> EvalMatrix(const EvalContext& c);
absl::StatusOr<Literals> EvalStructure(const EvalContext& c);

// A verified static graph on arguments that fit; regions are run through this.
absl::StatusOr<Literals> EvaluateStatic(const ir::Graph& graph, absl::Span<const ir::Literal> args);

// Element i as a scalar.
inline ir::Literal Element(const ir::Literal& x, int64_t i) {
  return ir::Literal::CopyOf(x.dtype(), {}, x.data<char>() + i * ir::DTypeBytes(x.dtype()));
}

// Calls f(index) for every multi-index below `sizes`, in row-major order.
template <typename F>
void ForEachIndex(absl::Span<const int64_t> sizes, F&& f) {
  if (ir::Product(sizes) == 0) return;
  std::vector<int64_t> index(sizes.size(), 0);
  while (true) {
    f(static_cast<const std::vector<int64_t>&>(index));
    int d = static_cast<int>(sizes.size()) - 1;
    while (d >= 0 && ++index[d] == sizes[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

inline int64_t Dot(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Calls f(zero) with an unsigned integer as wide as the element: for moving elements unseen.
template <typename F>
void DispatchBytes(ir::DType dtype, F&& f) {
  switch (ir::DTypeBytes(dtype)) {
    case 1:
      return f(uint8_t{0});
    case 2:
      return f(uint16_t{0});
    case 4:
      return f(uint32_t{0});
    default:
      return f(uint64_t{0});
  }
}

}  // namespace tektite::reference

#endif  // TEKTITE_JIT_REFERENCE_EVAL_H_
