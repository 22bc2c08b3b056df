// Sums of convolutions in which padding has met a weight that is not finite.
//
//   sum = WithoutPadding(b, region, view, index, sum, lanes);       // before the epilogue
//
// Tiles multiply zeros where a window reaches beyond its image or between elements that are spread
// out.  0 * inf is NaN, where a convolution leaves the element out.  So a sum that is NaN, of a
// window that reaches there, is added up once more, element by element.  Other sums stay as they
// are, and cost a comparison.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_PADDED_SUM_H_
#define TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_PADDED_SUM_H_

#include "absl/status/statusor.h"
#include "backends/gpu/emit/contraction/contraction_view.h"
#include "jit/ir/graph.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

// `lanes` sums side by side along n, from `index` on; k is not looked at.
absl::StatusOr<loop::Value> WithoutPadding(loop::Builder& b, const ir::Graph& region,
                                           const ContractionView& view, ContractionIndex index,
                                           loop::Value sum, int64_t lanes);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_PADDED_SUM_H_
