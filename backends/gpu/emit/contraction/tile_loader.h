// Rows of an operand on their way into a tile in shared memory, by all threads of a block.
//
//   TileLoader keys{operand, tile, /*width=*/96, vectors, place};
//   keys.Load(b, reader, shared, at, first, end);
//
// Whole chunks are copied in the background where they lie aligned (operand_reader.h); what is not
// whole passes through registers, element by element.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_TILE_LOADER_H_
#define TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_TILE_LOADER_H_

#include <functional>

#include "backends/gpu/emit/contraction/contraction_view.h"
#include "backends/gpu/emit/contraction/matrix_tile.h"
#include "backends/gpu/emit/contraction/operand_reader.h"
#include "jit/ir/graph.h"

namespace tektite::gpu {

struct TileLoader {
  ir::Value operand;
  MatrixTile tile;
  int64_t width;  // of the operand's rows; the tile's may be wider
  bool vectors;   // whole chunks lie side by side in memory
  // An element, or `lanes` of them side by side.
  std::function<ContractionView::Element(loop::Value row, loop::Value column, int64_t lanes)> place;

  // Columns that are filled: zeros beyond the width, up to what a product takes at once.
  int64_t columns() const;
  // Rows from `first` on into the tile at `at`; zeros from row `end` on.  kernel.launch.threads is
  // set.
  void Load(loop::Builder& b, OperandReader& reader, loop::Value shared, loop::Value at,
            loop::Value first, const ir::Dim& end) const;

 private:
  ContractionView::Element ElementAt(loop::Builder& b, loop::Value row, loop::Value column,
                                     const ir::Dim& end, int64_t lanes) const;
  void LoadChunks(loop::Builder& b, OperandReader& reader, loop::Value shared, loop::Value at,
                  loop::Value first, const ir::Dim& end) const;
  void LoadElements(loop::Builder& b, OperandReader& reader, loop::Value shared, loop::Value at,
                    loop::Value first, const ir::Dim& end) const;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_TILE_LOADER_H_
