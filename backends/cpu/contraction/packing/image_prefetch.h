// Fetches the image rows that the next block of a convolution copies together with its padding,
// while this block's tiles multiply: the image of a first convolution comes from memory.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_IMAGE_PREFETCH_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_IMAGE_PREFETCH_H_

#include <cstdint>

#include "backends/cpu/contraction/contraction_plan.h"
#include "backends/cpu/contraction/row_tiles.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

class ImagePrefetch {
 public:
  // Fetches nothing.
  ImagePrefetch() = default;
  // Nothing either where sizes are not known, or there is no next block.
  explicit ImagePrefetch(const ContractionPlan& plan);

  // At the begin of a block whose input begins at row `in_row` of `image`.
  void EnterBlock(loop::Builder& b, const ContractionPlan& plan, loop::Value image,
                  loop::Value in_row);
  // The share of one tile of a panel.
  void Emit(loop::Builder& b, const ContractionPlan& plan, const RowTile& tile,
            loop::Value panel) const;

 private:
  int64_t lines_ = 0;      // of a cache, for each tile and panel
  loop::Value next_rows_;  // those that the next block reads and this one does not
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_IMAGE_PREFETCH_H_
