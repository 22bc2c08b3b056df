// Asks for what the next panel is packed from (panel_packing.h) while the tiles of this one go on,
// a part in each.  Rows of the right-hand side lie pages apart, so the hardware does not follow,
// and packing would wait for most of its time: a fifth of that of a product with 128 rows.
//
//   PanelPrefetch next(b, plan, rhs, column);   // that of the next panel
//   next.Emit(tile, k, steps);                  // in tile number `tile`, steps k ... k + steps - 1
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_PANEL_PREFETCH_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_PANEL_PREFETCH_H_

#include "backends/cpu/contraction/contraction_tiling.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

// Whether it pays: for panels of known sizes that are packed in the kernel, out of more than the
// caches of a core hold beside the rest.
bool FetchesPanels(const ContractionTiling& plan, const target::TargetInfo& target);

class PanelPrefetch {
 public:
  PanelPrefetch() = default;  // asks for nothing
  // Of the last loop of k, at whose beginning `rhs` points.
  PanelPrefetch(loop::Builder& b, const ContractionTiling& plan, loop::Value rhs,
                loop::Value column);
  void Emit(loop::Value tile, loop::Value k, int64_t steps) const;

 private:
  loop::Builder* b_ = nullptr;
  const ContractionTiling* plan_ = nullptr;
  loop::Value first_;  // element of the panel
  // The panel's memory: rows of so many lines.
  int64_t rows_ = 0, lines_ = 0;
  ir::Dim row_stride_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_PANEL_PREFETCH_H_
