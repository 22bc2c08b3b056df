// How a product of bf16, of f32 by permission, or of s8, on the left also of u8, is computed in
// words of k, as the instructions for them take them.
//
//   TEKTITE_ASSIGN_OR_RETURN(const PairTiling plan, TilePairs(fusion, target));
//
// A word is two neighbouring values of k of one row, or of one column, four of s8: 32 bits.  The
// innermost loop over k is a run of words, the last of which ends in a zero where the run is odd.
// Columns are packed in panels, word by word: [words][panel].  Rows are [words] each; they are read
// where they lie if k is contiguous there and a tile's rows are one stride apart, and packed
// otherwise. Weights are packed before the call (passes/assign_layouts.cc), other right-hand sides
// panel by panel in the kernel.
//
// AMX multiplies up to 16 rows of up to 16 words by as many words of 16 columns in one instruction,
// sums stay in four tiles of 16x16.  AVX512-BF16 multiplies a word of a row, in all lanes, by a
// vector of columns.  Both keep sums in f32 (s32) from the first word to the last.  AVX512-VNNI
// does so for bytes, but takes those of rows as u8: rows of s8 are packed with 128 added to each,
// and sums begin with what that adds to each column, subtracted.
//
// AVX2 alone multiplies pairs of s16, twice as many as floats, and adds them up in another
// instruction.  Bytes are widened to s16 on their way: rows where they are packed, columns, which
// are pairs of bytes in memory, where they are loaded.  No product of two bytes leaves s16 in a
// pair: 2 * 128 * 128 is far from 2^31, so sums are exact.
//
// f32 by permission (--f32_products=bf16x3): x is taken for hi + lo, two bf16, and x * y for
// hi * hi' + hi * lo' + lo * hi'.  Rows are split where they are packed, weights before the call.
// Of numbers that bf16 does not hold, infinities and NaN, hi is 1 with their sign and lo what they
// are, so that no product of two halves is NaN where x * y is not.  In tiles alone.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_PAIRS_PAIR_TILING_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_PAIRS_PAIR_TILING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "jit/ir/graph.h"
#include "jit/target/target_info.h"

namespace tektite::cpu {

// Most rows of a tile, its columns, and most words of a row.
inline constexpr int kTileSide = 16;

struct PairTiling {
  // Loops and blocks; k in one sweep, vectors one or two, rows of two tiles.
  ContractionTiling contraction;
  int64_t word = 2;  // values of k in a word
  bool has_tiles = false;
  bool widens = false;  // bytes are multiplied as s16, in pairs
  // Operands of f32 are two bf16 each, and a product three of these: of both first ones, and of
  // each second one with the other's first.
  bool splits_f32 = false;
  bool rhs_packed = false;  // by assign_layouts
  bool lhs_in_place = false;
  int tile_rows = kTileSide;  // fewer where they divide the width of an image that is read in place
  bool lhs_k_contiguous = false;  // otherwise rows are
  bool rhs_k_contiguous = false;  // otherwise columns are
  ir::Dim run;                    // k of the innermost loop
  ir::Dim run_words;
  ir::Dim words;  // of all of k, in whole steps
  int64_t step_words = kTileSide;
  // A long k whose rows have to be packed is cut into pieces, whose operands lie so many elements
  // apart; loops, runs and words are those of a piece.
  int64_t piece = 0;  // trips of the outermost loop in one; 0: k is not cut
  ir::Dim pieces = 1, piece_lhs_stride = 0, piece_rhs_stride = 0;
  bool is_cut() const { return pieces != ir::Dim(1); }
  // Words of a row's half, or of the whole row: its end may be overwritten by a vector that begins
  // in it.
  ir::Dim half_pitch() const { return words + ir::Dim(kTileSide); }
  int halves() const { return splits_f32 ? 2 : 1; }
  // Between packed rows, and of a panel that is packed before the call.
  ir::Dim pitch() const { return ir::Dim(halves()) * half_pitch(); }
  ir::Dim panel_words() const { return ir::Dim(halves()) * words * ir::Dim(contraction.panel()); }
  // Rows are packed with 128 added to each element.
  bool adds_128() const {
    return word == 4 && !has_tiles && contraction.lhs_dtype == ir::DType::kS8;
  }
  // Between the rows of a tile that are read in place, in elements.
  ir::Dim lhs_stride() const;
};

// Rows of a tile whose sums are vector registers at a time, where there is no AMX.
int VectorRows(const PairTiling& plan);

// A plan of the contraction that `view` shows, in pairs on the right where it is packed: with the
// schedule's tile and blocks for it, or with a tile of its own where the schedule is null.
// Unimplemented for other types and machines, for sizes that do not pay, and for layouts in which
// neither rows (columns) nor k are contiguous.
absl::StatusOr<PairTiling> TilePairs(const ir::Node& fusion,
                                     const absl::StatusOr<ContractionTiling>& view,
                                     const target::Schedule* schedule,
                                     const target::TargetInfo& target);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_PAIRS_PAIR_TILING_H_
