// Products whose rows lie across k, as the gradient of a layer's weights has them: x, [k, m], by y,
// [k, n].  A tile takes eight of m from each of k, which lie pages apart and often in one set of
// the caches.
//
//   for each chunk: rows [m0, m1), a few panels
//     for each piece of k:
//       rows:  [k, m] -> [tile of rows][k of the piece][rows of a tile]      once for all panels
//       for each panel: columns -> [k of the piece][columns of a panel], tiles, added to the sums
//     for each panel: epilogue
//
// One core of a Zen 4, ms without and with: [384, 3136] x [3136, 1536] 51, 37; [1536, 3136] x
// [3136, 384] 41, 36; [256, 12544] x [12544, 128] 11, 9; at the core's peak 32, 32 and 7.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_PACKED_ROWS_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_PACKED_ROWS_H_

#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/contraction/row_tiles.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

// Decides on packed rows (ContractionTiling::packed_rows), and on blocks for them; false where they
// do not pay.  For products of known sizes that pack their columns and whose k divides into pieces.
bool ChoosePackedRows(ContractionTiling& plan, const target::TargetInfo& target);

// Packs `count` rows of a piece.  `from` is the first row's first element.
void PackRows(loop::Builder& b, const ContractionTiling& plan, const TiledRows& tiled,
              loop::Value from, loop::Value to);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_PACKED_ROWS_H_
