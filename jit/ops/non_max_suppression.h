// Which of many overlapping boxes stay: the meaning of the op `non_max_suppression`.
//
//   Suppression s{boxes, scores, n, 100, 0.5f, 0, 0};
//   const int64_t count = SuppressNonMaxima(s, indices, kept_scores);
//
// Boxes are taken from the highest score down, of equal ones the first; one that overlaps a box
// taken before by more than the threshold is left out. With `sigma` > 0 nothing is left out for
// that, but its score is multiplied by exp(-overlap^2 / (2 sigma)) for each such box, and it is
// considered again with what is left (Bodla et al., Soft-NMS, 2017). Only scores above `least`
// count, which no NaN is.
//
// Why here: every back end and the interpreter must agree to the bit with TensorFlow's kernel, down
// to what it does with boxes that are not finite. Comparisons and roundings are those of that
// kernel.
#ifndef TEKTITE_JIT_OPS_NON_MAX_SUPPRESSION_H_
#define TEKTITE_JIT_OPS_NON_MAX_SUPPRESSION_H_

#include <cstdint>

namespace tektite::ops {

struct Suppression {
  const float* boxes;   // [n, 4]: two opposite corners, y before x
  const float* scores;  // [n]
  int64_t n;
  int64_t most;   // boxes that may stay
  float overlap;  // area of intersection / area of union, 0 to 1
  float least;
  float sigma;
};

// A box with its corners in order.
struct OrderedBox {
  float y_min, x_min, y_max, x_max, area;
};
OrderedBox BoxAt(const Suppression& s, int64_t i);

// Writes up to `most` indices and scores, in the order in which they are taken; either may be null.
// Returns how many.
int64_t SuppressNonMaxima(const Suppression& s, int32_t* indices, float* scores);

}  // namespace tektite::ops

#endif  // TEKTITE_JIT_OPS_NON_MAX_SUPPRESSION_H_
