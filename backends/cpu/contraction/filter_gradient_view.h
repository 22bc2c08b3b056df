// The fields of a contraction's plan that only the gradient of a convolution's filter has: a
// product of the input, which overlaps itself, by the gradient of the result
// (contraction_tiling.h).
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_FILTER_GRADIENT_VIEW_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_FILTER_GRADIENT_VIEW_H_

#include "absl/status/status.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "jit/target/target_info.h"

namespace tektite::cpu {

// Sizes and loops, of one without groups. UNIMPLEMENTED for padding inside, and weights to pack.
absl::Status ViewFilterGradient(const ops::ContractionAxes& axes, ContractionTiling& plan);

// It goes through all images once for each block of rows: as many of the pixels as stay in cache
// while the block's tiles read them one after the other, the rest outside. An image of unknown size
// is taken for one that does.
void BlockPixels(ContractionTiling& plan, const target::TargetInfo& target);

}  // namespace tektite::cpu
#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_FILTER_GRADIENT_VIEW_H_
