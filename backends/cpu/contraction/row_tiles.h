// The rows of a block in register tiles.
//
//   ForEachTile(b, {count, 8, m, block_rows}, [&](const RowTile& tile) { ... });
//
// Whole tiles share their code; the rest of a block has code of its own size where that is known.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_ROW_TILES_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_ROW_TILES_H_

#include <functional>

#include "jit/ir/dim.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

// Rows of a register tile: `first`, `first` + 1, ...  Of its `rows`, `sure` exist in any case and
// the remaining ones only below `left`, which is none where all do.
struct RowTile {
  loop::Value first;
  int rows = 0, sure = 0;
  loop::Value left;
};

// A block has `count` rows: `block` of `total` or, at the end, the rest.
struct TiledRows {
  loop::Value count;
  int rows = 1;  // of a tile
  ir::Dim total, block;
};
// A tile begins below the block's end, and may reach beyond it where sizes are not known.
void ForEachTile(loop::Builder& b, const TiledRows& tiled,
                 const std::function<void(const RowTile&)>& body);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_ROW_TILES_H_
