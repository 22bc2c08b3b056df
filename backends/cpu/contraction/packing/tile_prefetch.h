// Asks for memory that tiles touch while they run through k, since the hardware does not: rows of
// the left-hand side and of the results begin anew in each tile, and end soon where k is short.
//
//   RowPrefetch rows(plan, target);                      // the left-hand side of the next tile
//   rows.EnterTile(b, plan, lhs, first_row);
//   rows.Emit(b, plan, k, steps);                        // beside steps k ... k + steps - 1
//   PiecePrefetch piece(plan);                           // the right-hand side's next piece
//   piece.Emit(b, plan, tile_number, {rhs, offset}, steps);
//   EpiloguePrefetch arrays(&epilogue, plan, target);    // what this tile's epilogue touches
//   arrays.EnterTile(b, batch, tile, column);
//   arrays.Emit(b, plan, k, steps);
//
// [6400, 128] x [128, 256] with 10 MB of operands and results, one thread of a Zen 4: 95 GFLOP/s
// became 101 with the results alone, 108 with the next tile's rows alone, and 113 with both (117
// where all lies in L2).
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_TILE_PREFETCH_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_TILE_PREFETCH_H_

#include <cstdint>

#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/contraction/epilogue.h"
#include "backends/cpu/contraction/row_tiles.h"
#include "jit/llvm/loop_ir.h"
#include "jit/target/target_info.h"

namespace tektite::cpu {

class RowPrefetch {
 public:
  // Of nothing where rows do not lie one after the other, where the left-hand side may be in L2, or
  // where a tile's rows take more than three quarters of L1.
  RowPrefetch(const ContractionTiling& plan, const target::TargetInfo& target);
  // At row `first` of the rows that begin at `lhs`.
  void EnterTile(loop::Builder& b, const ContractionTiling& plan, loop::Value lhs,
                 loop::Value first);
  void Emit(loop::Builder& b, const ContractionTiling& plan, loop::Value k, int64_t steps) const;

 private:
  int64_t lines_ = 0;  // of a tile
  loop::Value next_;   // the next tile's rows
};

// The first tile of a piece of the right-hand side would wait for memory in every step; instead,
// each tile fetches its share of the piece that comes next (panels and their pieces lie one after
// the other).  Worth 10 % where weights stream from L3 or memory.
class PiecePrefetch {
 public:
  PiecePrefetch() = default;  // of nothing
  // Of nothing where panels are not packed, sizes are not known, or it is small.
  explicit PiecePrefetch(const ContractionTiling& plan);
  // Tiles of a block, which share the work; 0 where there is none.
  int64_t tiles() const { return tiles_; }
  struct Place {
    loop::Value rhs, offset;  // what the steps read
  };
  void Emit(loop::Builder& b, const ContractionTiling& plan, loop::Value tile, const Place& place,
            int64_t steps) const;

 private:
  int64_t tiles_ = 0, piece_elements_ = 0;
};

class EpiloguePrefetch {
 public:
  EpiloguePrefetch() = default;  // of nothing
  // Of nothing, too, where the epilogue touches no such arrays or k is short.
  EpiloguePrefetch(Epilogue* epilogue, const ContractionTiling& plan, int64_t l2_bytes);
  void EnterTile(loop::Builder& b, loop::Value batch, const RowTile& tile, loop::Value column);
  void Emit(loop::Builder& b, const ContractionTiling& plan, loop::Value k, int64_t steps) const;

 private:
  const Epilogue* epilogue_ = nullptr;
  bool row_by_row_ = false;
  int rows_ = 0;  // of the current tile, which are still to be fetched
  TilePlace place_;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_PACKING_TILE_PREFETCH_H_
