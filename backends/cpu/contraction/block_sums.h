// Sums of a block of a product between the pieces of k, in scratch.
//
//   BlockSums sums(b, plan, pieces, panels);        // when the kernel begins
//   sums.Enter(panel);                              // which panel of the chunk is meant
//   sums.Zero();
//   for each piece: for each tile: sums.Add(tile, acc);
//                   sums.EndPiece(piece, for_each_tile);
//   sums.EndPieces(for_each_tile);
//   for each tile: sums.Total(tile)                 // accumulators, row by row
//
// Sums of more than SumCascade::kFanIn pieces are sums of sums of so many (long_sum.h).
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_BLOCK_SUMS_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_BLOCK_SUMS_H_

#include <functional>
#include <vector>

#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/contraction/row_tiles.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::cpu {

class BlockSums {
 public:
  using ForEachTile = std::function<void(const std::function<void(const RowTile&)>&)>;

  BlockSums() = default;
  BlockSums(loop::Builder& b, const ContractionTiling& plan, const ir::Dim& pieces,
            const ir::Dim& panels);
  void Enter(loop::Value panel);
  void Zero();
  void Add(const RowTile& tile, const std::vector<loop::Value>& acc);
  void EndPiece(loop::Value piece, const ForEachTile& for_each_tile);
  void EndPieces(const ForEachTile& for_each_tile);
  std::vector<loop::Value> Total(const RowTile& tile);

 private:
  loop::Value Bytes() const;
  loop::Value Index(const RowTile& tile, int row, int vector) const;
  std::vector<loop::Value> Load(loop::Value sums, const RowTile& tile) const;
  void AddTo(loop::Value sums, const RowTile& tile, const std::vector<loop::Value>& acc) const;

  loop::Builder* b_ = nullptr;
  const ContractionTiling* plan_ = nullptr;
  ir::Dim size_;                 // elements of a panel's
  loop::Value all_, all_upper_;  // no value where there are no sums of sums
  loop::Value sums_, upper_;     // of the panel that is meant
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_BLOCK_SUMS_H_
