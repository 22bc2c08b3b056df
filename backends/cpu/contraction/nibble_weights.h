// Weights two to a byte (jit/passes/nibbles.h), as code of a panel reads them.
//
//   NibbleWeights weights(b, view, rhs, panel);
//   Value bytes = b.Load(weights.rows(), ...);
//   auto [w, next] = weights.InF32(b, bytes, v);   // vector v of rows k and k + 1
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_NIBBLE_WEIGHTS_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_NIBBLE_WEIGHTS_H_

#include <array>
#include <vector>

#include "backends/cpu/contraction/contraction_tiling.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

class NibbleWeights {
 public:
  NibbleWeights() = default;
  // Reads the first row of panel number `panel` at `rhs`, the least numbers of its columns.
  NibbleWeights(loop::Builder& b, const ContractionTiling& view, loop::Value rhs,
                loop::Value panel);

  loop::Value rows() const { return rows_; }  // a pointer to the others
  std::array<loop::Value, 2> InF32(loop::Builder& b, loop::Value bytes, int vector) const;

 private:
  loop::Value rows_;
  std::vector<loop::Value> base_;  // the least numbers less 2^23, of f32
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_NIBBLE_WEIGHTS_H_
