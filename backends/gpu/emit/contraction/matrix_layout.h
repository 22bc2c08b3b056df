// Whether an operand of a product is stored as a row of matrices.
//
//   bool summed_first = false;
//   if (IsRowOfMatrices(rank, batch, summed, &summed_first)) ...   // [batch, k, n] or [batch, n,
//   k]
#ifndef TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_MATRIX_LAYOUT_H_
#define TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_MATRIX_LAYOUT_H_

#include <cstdint>
#include <vector>

namespace tektite::gpu {

inline bool CountsUp(const std::vector<int64_t>& dims, int64_t from) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != from + static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Whether [batch, rest, summed] or [batch, summed, rest] is how the operand is stored; sets
// `summed_first`.
inline bool IsRowOfMatrices(int64_t rank, const std::vector<int64_t>& batch,
                            const std::vector<int64_t>& summed, bool* summed_first) {
  const auto first = static_cast<int64_t>(batch.size());
  if (!CountsUp(batch, 0)) return false;
  *summed_first = CountsUp(summed, first);
  return *summed_first || CountsUp(summed, rank - static_cast<int64_t>(summed.size()));
}

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_MATRIX_LAYOUT_H_
