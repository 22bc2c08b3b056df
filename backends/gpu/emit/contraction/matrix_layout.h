// Whether an operand of a product is stored as a row of matrices.
//
//   bool summed_first = false;
//   if (IsRowOfMatrices(axes, &ops::ContractionAxis::rhs, rank, &summed_first)) ...   // [batch, k,
//   n]
//                                                                                   // or [batch,
//                                                                                   n, k]
#ifndef TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_MATRIX_LAYOUT_H_
#define TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_MATRIX_LAYOUT_H_

#include "jit/ops/contraction_axes.h"

namespace tektite::gpu {

// Whether the axes are the operand's dimensions from `first` on; `side` is lhs or rhs.
inline bool CountsUp(const ops::Axes& axes, int ops::ContractionAxis::*side, int first) {
  for (const ops::ContractionAxis& axis : axes) {
    if (axis.*side != first++) return false;
  }
  return true;
}

// Whether [batch, rest, summed] or [batch, summed, rest] is how the operand is stored; sets
// `summed_first`.
inline bool IsRowOfMatrices(const ops::ContractionAxes& axes, int ops::ContractionAxis::*side,
                            int rank, bool* summed_first) {
  if (!CountsUp(axes.batch, side, 0)) return false;
  *summed_first = CountsUp(axes.k, side, static_cast<int>(axes.batch.size()));
  return *summed_first || CountsUp(axes.k, side, rank - static_cast<int>(axes.k.size()));
}

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_MATRIX_LAYOUT_H_
