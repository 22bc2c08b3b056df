// The tile that packs a panel (panel_packing.h) while it multiplies: the first of a chunk's rows.
// Its rows of the right-hand side come straight from memory, and those further on are asked for, so
// that copying takes no time of its own.
//
//   const PackingTile packing(b, plan, rhs, column, panel, masks);
//   step.WithColumns(lhs_offset, packing.PanelRow(k, panel_offset), acc);    // for each k
//   packing.Fetch(k, steps);                                                 // for each few of
//   them
//
// A prefetch far ahead does not do the same: 1024 rows 4 KB apart share 32 sets of the second
// cache, which hold 256 of them.  [128,1024] x [1024,1024] on one core of a Zen 4, from
// memory: 2.90 ms with a copy in front of the tiles, 2.60 so, 2.29 without packing.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_PACKING_TILE_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_PACKING_TILE_H_

#include <cstdint>
#include <vector>

#include "backends/cpu/contraction/contraction_tiling.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

// Whether the first tile of every chunk packs: panels of contiguous columns that are packed in the
// kernel, of known sizes.
bool FirstTilePacks(const ContractionTiling& plan);

class PackingTile {
 public:
  // `rhs` points at the batch, `column` is the panel's first, `panel` is where it is packed to.
  PackingTile(loop::Builder& b, const ContractionTiling& plan, loop::Value rhs, loop::Value column,
              loop::Value panel, std::vector<loop::Value> masks);

  // The panel's vectors of row `k`, which lies at `panel_offset` from now on.
  std::vector<loop::Value> PanelRow(loop::Value k, loop::Value panel_offset) const;
  // Asks for what steps k, ..., k + steps - 1 read some rows later, of this panel or of the next.
  void Fetch(loop::Value k, int64_t steps) const;

 private:
  loop::Builder& b_;
  const ContractionTiling& plan_;
  const loop::Value source_, panel_;
  const std::vector<loop::Value> masks_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_PACKING_TILE_H_
