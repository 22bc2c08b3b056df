// How large the elements of a tensor can be, and what has to be checked for that to hold: integers
// hold no NaN, so that a float which becomes one must not be NaN.
//
//   Magnitudes magnitudes(graph, stable);
//   magnitudes.Of(%y)           9: |y| <= 2^9, no element is NaN, if the checks hold
//   magnitudes.checks()         [all(abs(%bias) <= 2^24), all(abs(%x) <= 2^24)]
//
// Weights are checked once, by a scalar that depends on them alone.  What no rule bounds, such as
// a parameter, is checked in every call, which reads it once.
#ifndef TEKTITE_JIT_PASSES_QUANTIZATION_MAGNITUDES_H_
#define TEKTITE_JIT_PASSES_QUANTIZATION_MAGNITUDES_H_

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "jit/ops/builder.h"
#include "jit/passes/pass.h"

namespace tektite::passes {

class Magnitudes {
 public:
  Magnitudes(ir::Graph& graph, const absl::flat_hash_set<const ir::Node*>& stable)
      : graph_(graph), stable_(stable) {}

  // e such that no element of `v` is above 2^e, below -2^e, or NaN.
  int Of(ir::Value v);

  // What is known of `v` from elsewhere.
  void Assume(ir::Value v, int exponent) { known_[v] = exponent; }

  // Scalars of bool that must be true.
  const std::vector<ir::Value>& checks() const { return checks_; }
  // `condition`: of any shape; all of its elements must be true.
  void Check(ops::FuncBuilder& b, ir::Value condition);
  // One output that says whether all checks hold; none where there are none.
  absl::Status AddTo(PassContext& context);

 private:
  std::optional<int> ByRule(ir::Value v);
  std::optional<int> OfQuotient(ir::Node& node);
  std::optional<int> OfConstant(const ir::Literal& literal) const;
  int Checked(ir::Value v);

  ir::Graph& graph_;
  const absl::flat_hash_set<const ir::Node*>& stable_;
  absl::flat_hash_map<ir::Value, int> known_;
  std::vector<ir::Value> checks_;
};

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_QUANTIZATION_MAGNITUDES_H_
