// Values that are whole numbers times a step, as bytes.
//
//   %q = floor(...)                      whole numbers of [0, 255], as clamps and scales say
//   %x = mul(%q, broadcast(%step))       or a constant that is that (constant_steps.h)
//
//   ByteValues values(graph, stable);
//   values.Rows(%x)            {u8, %step}
//   values.Make(%x, *form)     convert(%q) {dtype = u8}
//
// Bytes are the whole numbers, if those fit into u8 or s8, or the numbers less the least of them.
// Reshapes and transposes of such values are bytes, too.
//
// Limits: f32; one step for all of a left-hand side, one for each index of one dimension of
// weights.
#ifndef TEKTITE_JIT_PASSES_QUANTIZATION_BYTE_VALUES_H_
#define TEKTITE_JIT_PASSES_QUANTIZATION_BYTE_VALUES_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "jit/ops/builder.h"
#include "jit/passes/quantization/magnitudes.h"
#include "jit/passes/quantization/scalar_ranges.h"

namespace tektite::passes {

// value = (bytes + zero) * step
struct ByteForm {
  ir::DType dtype = ir::DType::kS8;
  ir::Value base;     // numbers * step, below movements
  ir::Value numbers;  // whole numbers of f32
  ir::Value step;     // f32: a scalar, or a vector along dimension `axis`
  int axis = -1;
  std::optional<Bound> zero;  // none: 0
  // At run time these are to be at least and at most so much.
  std::vector<std::pair<Bound, float>> at_least, at_most;
};

class ByteValues {
 public:
  ByteValues(ir::Graph& graph, const absl::flat_hash_set<const ir::Node*>& stable)
      : graph_(graph), stable_(stable), ranges_(graph, stable), magnitudes_(graph, stable) {}

  // How the left-hand side of a product, or its weights, are bytes; none if they are not.
  std::optional<ByteForm> Rows(ir::Value v);
  // `columns`: the dimension that may have a step for each index.
  std::optional<ByteForm> Weights(ir::Value v, int columns);

  // The bytes, and checks that they hold what `v` does.
  ir::Value Make(ir::Value v, const ByteForm& form);

  // Lets what else reads a value that is bytes now read those.
  void ReadBytesElsewhere();

  Magnitudes& magnitudes() { return magnitudes_; }

 private:
  std::optional<ByteForm> ConstantWeights(ir::Value v, int columns);
  ir::Value MakeBase(const ByteForm& form);

  ir::Graph& graph_;
  const absl::flat_hash_set<const ir::Node*>& stable_;
  ScalarRanges ranges_;
  Magnitudes magnitudes_;
  absl::flat_hash_map<ir::Value, std::optional<ByteForm>> rows_;  // by base
  absl::flat_hash_map<ir::Value, ir::Value> made_;
  std::vector<std::pair<ByteForm, ir::Value>> rows_made_;
};

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_QUANTIZATION_BYTE_VALUES_H_
