// Constants that are whole numbers times a step for each column: quantized weights that a host has
// computed already.
//
//   FindSteps({{0.5, 3}, {-1, 2}}, /*axis=*/1)      bytes {{63, 126}, {-126, 84}}, or the like, and
//                                                   steps {0.5 / 63, 3 / 126}
//
// A column's greatest number is some whole number of steps, of which all possible ones are tried.
// Numbers may be off by the rounding of two products.
#ifndef TEKTITE_JIT_PASSES_QUANTIZATION_CONSTANT_STEPS_H_
#define TEKTITE_JIT_PASSES_QUANTIZATION_CONSTANT_STEPS_H_

#include <optional>

#include "jit/ir/literal.h"

namespace tektite::passes {

struct ConstantSteps {
  ir::Literal bytes;  // s8, of the constant's sizes
  ir::Literal steps;  // f32, one for each index of the axis
};

// None where a column has no such step, for types other than f32, and for empty constants.
std::optional<ConstantSteps> FindSteps(const ir::Literal& constant, int axis);

}  // namespace tektite::passes

#endif  // TEKTITE_JIT_PASSES_QUANTIZATION_CONSTANT_STEPS_H_
