// Register tiles of a contraction: how many rows and vectors of accumulators.
//
//   ChooseTile(fusion, plan, target);     // plan.vectors == 3, plan.rows == 8
//   CandidateTiles(fusion, target)        // {3, 8}, {2, 12}, {1, 14}: worth measuring
//
// With 32 vector registers 8x3, 12x2 or 14x1 accumulators leave room for a panel row and a
// broadcast; 7 x 4 and more spill and run at half speed.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_TILES_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_TILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/contraction/contraction_plan.h"

namespace tektite::cpu {

// With fewer accumulators than this, k is taken in several interleaved sums to hide FMA latency.
inline constexpr int kEnoughAccumulators = 8;

// A register tile as a schedule's variant names it: vectors x rows, "3x8".
struct Tile {
  int vectors = 0, rows = 0;
  friend bool operator==(const Tile& a, const Tile& b) {
    return a.vectors == b.vectors && a.rows == b.rows;
  }
};
std::string TileName(const Tile& tile);
// The tiles worth trying for a contraction of static shapes, the one that is taken unasked first.
// All add up k in the same order, so results do not depend on which it is.
absl::StatusOr<std::vector<Tile>> CandidateTiles(const ir::Node& fusion,
                                                 const target::TargetInfo& target);

// Of a plan with its sizes: the tile that the fusion names, or the best by the plan's sizes.
void ChooseTile(const ir::Node& fusion, ContractionPlan& plan, const target::TargetInfo& target);

// A dot_general of so few rows that its right-hand side sets the pace (streamed_product.cc).
inline constexpr int64_t kFewRows = 4;
bool HasFewRows(const ContractionPlan& plan);
// Vectors of its panels.
int StreamedVectors(const ContractionPlan& plan, int64_t rows, const target::TargetInfo& target);

// Two rows share the only panel's last vector, since it is half empty.  (24 columns: three
// multiply-adds for two rows instead of four.)
bool SharesLastVector(const ContractionPlan& plan);

// Of a plan with its tile: the rows' elements of two neighbouring k make an aligned word of 32 bits
// each, and there are registers for two panel rows, the word and both its halves.
bool ReadsPairs(const ContractionPlan& plan, const target::TargetInfo& target);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_TILES_H_
