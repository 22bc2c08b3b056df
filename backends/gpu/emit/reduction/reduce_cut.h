// How a reduction is cut into blocks of threads: by sizes alone, so that results do not depend on
// the card.
//
//   const ColumnTile tile = ChooseTile(plan, work);             // of a block over columns
//   const Pieces pieces = CutColumns(plan, tile);               // of the terms: 1 or more
//
// A result's terms are one block's work where there are results enough to keep a card busy.
// Otherwise they are cut into pieces, whose blocks leave partial results for a second launch.  It
// costs about as much as a block that reads 100 KiB, so pieces are no shorter than that pays.
//
// Of sizes that are not known an estimate decides whether there are pieces; how many follows from
// the sizes of the call.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_REDUCE_CUT_H_
#define TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_REDUCE_CUT_H_

#include <cstdint>

#include "backends/gpu/emit/reduction/thread_group.h"
#include "jit/ir/graph.h"
#include "jit/llvm/emit/reduce_space.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

// A block over columns: `slices` times `across` threads, each of which takes `lanes` neighbours of
// every slices-th row.  All are powers of two.
struct ColumnTile {
  int64_t lanes = 1, across = loop::kWarpThreads, slices = 1;
  int threads() const { return static_cast<int>(across * slices); }
  int64_t width() const { return across * lanes; }
};

// Pieces of `units * unit` terms; the last may be shorter.
struct Pieces {
  ir::Dim terms, count = 1, units;
  int64_t unit = 1;
  bool is_cut() const { return count != ir::Dim(1); }
  ir::Dim length() const { return is_cut() ? units * ir::Dim(unit) : terms; }
  // All have the same length.
  bool are_equal() const { return !is_cut() || count * length() == terms; }
  loop::Value Begin(loop::Builder& b, loop::Value piece) const;
  loop::Value End(loop::Builder& b, loop::Value piece) const;
};

// What a thread holds and reads for an element of the space.
struct ReduceWork {
  int64_t words = 1;     // of 4 bytes, that it accumulates
  int64_t together = 1;  // terms that it reads at once
  int64_t lanes = 1;     // most elements of an access
  bool is_light = true;  // a thread needs few registers beside those
};
ReduceWork WorkOf(const ir::Graph& region, const loop::ReduceSpace& plan);

// The innermost dimension stays.
ColumnTile ChooseTile(const loop::ReduceSpace& plan, const ReduceWork& work);
Pieces CutColumns(const loop::ReduceSpace& plan, const ColumnTile& tile, const ReduceWork& work);
// The innermost dimension is reduced.  The group is changed to what takes a piece.
Pieces CutRows(const loop::ReduceSpace& plan, const ReduceWork& work, ThreadGroup* group);
// Of the second launch, in which partial results are rows of `results` columns.
ColumnTile TileOfPieces(const Pieces& pieces, const ir::Dim& results);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_REDUCTION_REDUCE_CUT_H_
