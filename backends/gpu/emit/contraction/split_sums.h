// Products of few results and long sums: blocks share the terms of a sum.
//
//   const int64_t slices = ChooseSlices(blocks, k);
//   ... the product's kernel has `slices` times as many blocks, and stores the sums of each:
//   SliceSums sums(&b, view, slices, DType::kF32);         // at the beginning of either kernel
//   b.Store(sums.scratch(), sums.At(slice, batch, row, column), sum);
//   ... and a second launch adds them up:
//   EmitSliceSums(region, view, slices, DType::kF32, &second);
//
// The slices follow from sizes, and their sums are added in order: results do not depend on the
// card, and no float is added atomically.
//
// Limits: sizes must be known.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_SPLIT_SUMS_H_
#define TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_SPLIT_SUMS_H_

#include "absl/status/status.h"
#include "backends/gpu/emit/contraction/contraction_view.h"
#include "jit/ir/graph.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

// 1: the product has blocks enough, or sums that are too short to share.  `blocks`: without slices.
int64_t ChooseSlices(const ir::Dim& blocks, const ir::Dim& k);

// Where the sums of slices lie: [slice][batch][m][n].
class SliceSums {
 public:
  SliceSums(loop::Builder* builder, const ContractionView& view, int64_t slices, ir::DType dtype);
  loop::Value scratch() const { return scratch_; }
  loop::Value At(loop::Value slice, loop::Value batch, loop::Value row, loop::Value column) const;
  // Neighbours in a row that may be stored and loaded at once.
  int64_t lanes() const;

 private:
  loop::Builder& b_;
  const ir::Dim batch_, m_, n_;
  const ir::DType dtype_;
  const loop::Value scratch_;
};

// The second launch: adds them up, and computes the region's results.
absl::Status EmitSliceSums(const ir::Graph& region, const ContractionView& view, int64_t slices,
                           ir::DType dtype, loop::Kernel* kernel);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_SPLIT_SUMS_H_
