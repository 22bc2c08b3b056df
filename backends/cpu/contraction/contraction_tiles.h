// Register tiles of a contraction: how many rows and vectors of accumulators.
//
//   target::Tile tile = ChooseTile(view, target);    // {3, 8}
//
// With 32 vector registers 8x3, 12x2 or 14x1 accumulators leave room for a panel row and a
// broadcast; 7 x 4 and more spill and run at half speed.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_TILES_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_TILES_H_

#include "absl/status/status.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "jit/target/schedules.h"

namespace tektite::cpu {

// With fewer accumulators than this, k is taken in several interleaved sums to hide FMA latency.
inline constexpr int kEnoughAccumulators = 8;

// The best tile by the view's sizes.  Counted by TilingCounts.
target::Tile ChooseTile(const ContractionTiling& view, const target::TargetInfo& target);
// Whether a chunk copies its part of a right-hand side that is not packed.
bool CopiesRhs(const ContractionTiling& view, const target::Tile& tile);

// Copies the schedule's tile into the plan; InvalidArgument if there is none, or the fusion's
// panels are of another width.
absl::Status TakeTile(const ir::Node& fusion, const target::Schedule& schedule,
                      ContractionTiling& plan);

// A dot_general of so few rows that its right-hand side sets the pace (streamed_product.cc).
inline constexpr int64_t kFewRows = 4;
bool HasFewRows(const ContractionTiling& plan);
// Whether it is summed along rows of the right-hand side in which k is contiguous.
bool StreamsAlongK(const ContractionTiling& view);
// Vectors of its panels.  Of columns that are read in groups, as many of each: whole panels.
int StreamedVectors(const ContractionTiling& plan, int64_t rows, const target::TargetInfo& target,
                    int64_t groups = 1);

// Two rows share the only panel's last vector, since it is half empty.  (24 columns: three
// multiply-adds for two rows instead of four.)
bool SharesLastVector(const ContractionTiling& plan);

// Of a plan with its tile: the rows' elements of two neighbouring k make an aligned word of 32 bits
// each, and there are registers for two panel rows, the word and both its halves.
bool ReadsPairs(const ContractionTiling& plan, const target::TargetInfo& target);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_TILES_H_
