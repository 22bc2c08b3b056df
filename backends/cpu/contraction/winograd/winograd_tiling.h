// Which 3x3 convolutions are computed by Winograd's F(2x2, 3x3), and in which blocks.
//
//   TEKTITE_RETURN_IF_ERROR(ChooseWinograd(plan, target));    // Unimplemented: direct
//   absl::StatusOr<WinogradTiling> plan = TileWinograd(fusion, schedule, target);
//
// Four results of a 3x3 convolution of stride 1, a square of 2 x 2, take 36 multiplications
// directly and 16 by S. Winograd's minimal filtering ("Fast Algorithms for Convolutional Neural
// Networks", Lavin and Gray, 2016): with the square's 4 x 4 inputs d and the kernel g,
//
//   Y = A^T [ (G g G^T) * (B^T d B) ] A      (* element by element, summed over channels)
//
// which for many channels are 16 matrix products [squares, channels] x [channels, features], the
// same register tiles as any contraction's.  The transforms are additions, and halves in G.
//
// A chunk is a block of squares and some panels of features.  Its inputs are transformed once and
// stay in L2, kernels are transformed panel by panel from the weights as they are packed for the
// direct kernel: that costs 3 to 15 % of the products' time, where keeping them transformed would
// cost 16/9 of the weights' memory, and their way from it in each call.
//
// Sizes may be symbolic.  The plan's decisions assume one image where only their number is not
// known, and a large one where its height or width is not.
//
// Limits: f32, packed weights, channels in whole vectors.  Errors are relative to the largest of a
// square's 4 x 4 inputs and not of each result's 3 x 3, and otherwise no larger than a direct
// sum's. Results that are not finite are computed once more directly, so that an infinity, a NaN or
// an overflow reaches as far as it does in a direct sum.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_WINOGRAD_WINOGRAD_TILING_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_WINOGRAD_WINOGRAD_TILING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "jit/base/rounding.h"

namespace tektite::cpu {

inline constexpr char kWinograd[] = "winograd";

struct WinogradTiling {
  static constexpr int64_t kProducts = 16;  // 4 x 4 positions, a matrix product each

  ContractionTiling direct;                    // its panels and geometry
  ir::Dim images = 1, height = 1, width = 1;   // of the result
  ir::Dim squares_high = 1, squares_wide = 1;  // 2 x 2 results each
  int rows = 8;                                // squares in a register tile
  ir::Dim block_squares = 1;                   // of a chunk
  int64_t most_squares = 1;                    // that a block may have, and scratch has room for
  int64_t usual_tiles = 1;                     // of a block; they share the prefetches
  int64_t block_panels = 1;                    // of a chunk
  int64_t block_channels = 1;                  // whose kernels are transformed together
  ir::Dim cost;                                // see Cost in chunking.h

  int64_t channels() const { return direct.conv.channels; }
  ir::Dim squares() const { return images * squares_high * squares_wide; }
  int64_t panels() const { return direct.panels().value(); }
  ir::Dim blocks() const { return CeilDiv(squares(), block_squares); }
  int64_t panel_blocks() const { return CeilDiv(panels(), block_panels); }
  // Elements between squares of transformed inputs.  A vector more than they have: rows of a tile
  // that are a power of two apart would share few sets of L1.
  int64_t input_stride() const { return channels() + direct.lanes; }
};

// OK for a convolution that there is code for; Unimplemented with a reason for any other.
absl::Status CheckWinograd(const ir::Node& fusion, const absl::StatusOr<ContractionTiling>& view,
                           const target::TargetInfo& target);

// Chooses the rows of a tile and a chunk's panels and channels for plan.direct with its vectors;
// Unimplemented where the direct kernel is taken for faster.
absl::Status ChooseWinograd(WinogradTiling& plan, const target::TargetInfo& target);

// The plan that the schedule names.
absl::StatusOr<WinogradTiling> TileWinograd(const ir::Node& fusion,
                                            const target::Schedule& schedule,
                                            const target::TargetInfo& target);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_WINOGRAD_WINOGRAD_TILING_H_
