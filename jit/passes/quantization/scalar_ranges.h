// The least and the greatest number that elements of a tensor can be, where clamps by scalars say
// so: numbers, or scalars that the graph computes.
//
//   %1 = min(%x, broadcast(6))   %2 = max(%1, broadcast(0))   %3 = floor(mul(%2, broadcast(%s)))
//   ScalarRanges(graph).Of(%3)   [floor(0 * %s), floor(6 * %s)], or the other way round
//
// Every op is monotonic, roundings too, so that the bounds are those of the computed floats, to the
// bit.  Scalars that depend on weights alone are computed once.
//
// Limits: f32; ops with one operand that is no scalar.
#ifndef TEKTITE_JIT_PASSES_QUANTIZATION_SCALAR_RANGES_H_
#define TEKTITE_JIT_PASSES_QUANTIZATION_SCALAR_RANGES_H_

#include <optional>

#include "absl/container/flat_hash_set.h"
#include "jit/ops/builder.h"

namespace tektite::passes {

// A scalar of f32: a number, or what `value` is in a call.
struct Bound {
  std::optional<float> number;
  ir::Value value = {};
};

struct ScalarRange {
  Bound low, high;
  bool clamped_at_zero = false;  // 0 is the least number that is clamped and scaled on the way
};

class ScalarRanges {
 public:
  // New nodes stand before the node whose range is asked for.
  ScalarRanges(ir::Graph& graph, const absl::flat_hash_set<const ir::Node*>& stable)
      : graph_(graph), stable_(stable) {}

  // [-inf, inf] where nothing is known.
  ScalarRange Of(ir::Value v);

  // The scalar of f32 that every element of `v` is, if it is a number or depends on weights alone.
  std::optional<Bound> ScalarOf(ir::Value v) const;

  // op(x, y), computed here where both are numbers.
  static Bound Apply(ops::FuncBuilder& b, ir::Op op, const Bound& x, const Bound& y);
  static ir::Value InGraph(ops::FuncBuilder& b, const Bound& bound);

 private:
  ScalarRange OfBinary(ir::Value v);
  ScalarRange OfClamp(ir::Value v);

  ir::Graph& graph_;
  const absl::flat_hash_set<const ir::Node*>& stable_;
};

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_QUANTIZATION_SCALAR_RANGES_H_
