// How a contraction is computed: as [batch][m, k] x [k, n] with addressed rows, cut into register
// tiles, panels and chunks.
//
// dot_general and convolution share this view.  Row m of the left-hand side starts at an offset
// that is a function of m; k runs through a nest of loops with an lhs stride each (for a
// convolution: kernel depth, height, and width times input features).  A convolution's batch counts
// images and, with three spatial dimensions, the slices of its result's depth.  In the gradient of
// a filter (jit/ops/filter_gradient.h) m is taps and channels and k images and pixels: a product
// whose left-hand side overlaps itself.  Columns come in panels of `panel` = vectors x lanes, and a
// register tile is `rows` x `vectors` accumulators.
//
// A plan is made in two steps.  View reads sizes and addresses off the fusion; contraction_tiles.h
// chooses a tile for the view once, which becomes part of the fusion's schedule.  The emitter's
// plan is the view with that tile, and blocks for it (contraction_blocks.h).
//
// Sizes may be symbolic.  Tiles are chosen for good: an unknown m or k is taken for a large one, an
// unknown n gets panels of two vectors, which waste less of a ragged end.  Block sizes are
// expressions like any other.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_TILING_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_TILING_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/ir/graph.h"
#include "jit/ops/contraction_axes.h"
#include "jit/target/schedules.h"
#include "jit/target/target_info.h"

namespace tektite::cpu {

// Of a line of the caches.
inline constexpr int64_t kLineBytes = 64;

// One loop of an address: trips, and elements moved per trip on either side.
struct AddressLoop {
  ir::Dim trips = 1;
  ir::Dim lhs_stride = 0;
  ir::Dim rhs_stride = 0;
};

// A loop for each axis.
std::vector<AddressLoop> LoopsOf(const ops::Axes& axes);
// Drops loops of one trip and merges loops whose strides continue each other on both sides.
std::vector<AddressLoop> Merged(const std::vector<AddressLoop>& loops);

enum class RhsMode {
  kPacked,        // panels made by assign_layouts
  kRowMajor,      // columns are contiguous: read in place
  kPackInKernel,  // each chunk copies its panels into scratch
};

struct ConvolutionGeometry {
  ir::Dim depth = 1, height = 1, width = 1;  // input
  ir::Dim out_depth = 1, out_height = 1, out_width = 1;
  int64_t channels = 1;
  int64_t kernel_depth = 1, kernel_height = 1, kernel_width = 1;
  int64_t stride_d = 1, stride_h = 1, stride_w = 1;
  int64_t dilation_d = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_front = 0, pad_top = 0, pad_left = 0, pad_back = 0, pad_bottom = 0, pad_right = 0;
  bool padded() const {
    return pad_front + pad_back + pad_top + pad_left + pad_bottom + pad_right > 0;
  }
  bool reads_one_slice() const { return kernel_depth == 1 && pad_front + pad_back == 0; }
  // Elements of one slice of the input's depth.
  ir::Dim slice() const { return height * width * ir::Dim(channels); }
  ir::Dim padded_width() const { return width + ir::Dim(pad_left + pad_right); }
  // Input rows that `rows` output rows read.
  ir::Dim input_rows(const ir::Dim& rows) const {
    return (rows - ir::Dim(1)) * ir::Dim(stride_h) + ir::Dim((kernel_height - 1) * dilation_h + 1);
  }
};

struct ContractionTiling {
  const ir::Node* root = nullptr;
  bool is_convolution = false;
  bool is_filter_gradient = false;  // which is none, as far as addresses go
  ConvolutionGeometry conv;
  ir::DType dtype = ir::DType::kF32;      // of the operands
  ir::DType lhs_dtype = ir::DType::kF32;  // the same, or u8 or f32 where that is s8
  ir::DType accumulator = ir::DType::kF32;

  ir::Dim batch = 1, m = 1, n = 1, k = 1;
  std::vector<AddressLoop> batch_loops;  // with both strides
  std::vector<AddressLoop> m_loops;      // lhs only; not of convolutions
  std::vector<AddressLoop> k_loops;      // outermost first
  ir::Dim rhs_n_stride = 1;

  RhsMode rhs = RhsMode::kRowMajor;
  int lanes = 16, vectors = 3, rows = 8;
  bool has_aligned_vectors = true;  // whose first column is a multiple of the lanes
  int64_t panel() const { return static_cast<int64_t>(lanes) * vectors; }
  ir::Dim panels() const { return CeilDiv(n, panel()); }

  bool reads_pairs = false;  // of bf16, a word each
  // Panels of weights two to a byte (jit/passes/nibbles.h): each step of the only k loop takes two
  // of k, and a panel begins with a row that all rows are added to.
  bool reads_nibbles = false;

  ir::Dim block_rows;        // rows of m per chunk
  ir::Dim image_rows = 1;    // the same in a convolution's output rows, which are taken whole
  ir::Dim block_panels = 1;  // panels per chunk
  int blocked_k_loops = 0;   // leading k loops outside the row tiles
  // Each chunk copies its rows, too, and unpacked_k_stride is what k_loops.back().lhs_stride was
  // (packed_rows.h).
  bool packed_rows = false;
  ir::Dim unpacked_k_stride = 0;
  ir::Dim cost;  // see Cost in chunking.h

  ir::Dim m_blocks() const { return CeilDiv(m, block_rows); }
  ir::Dim n_blocks() const { return CeilDiv(panels(), block_panels); }
};

// Sizes and addresses, with a right-hand side in panels if `packed`, otherwise as it is;
// Unimplemented with a reason for layouts and types that have no code.
absl::StatusOr<ContractionTiling> ViewContraction(const ir::Node& fusion,
                                                  const target::TargetInfo& target, bool packed);

// The plan that the schedule of register tiles names.
absl::StatusOr<ContractionTiling> TileContraction(const ir::Node& fusion,
                                                  const target::Schedule& schedule,
                                                  const target::TargetInfo& target);

// For tests: how many tiles, and how many blocks for them, this process has chosen.
struct TilingCounts {
  static inline std::atomic<int64_t> tiles{0}, blocks{0};
};

// Whether assign_layouts has packed the right-hand side in words of k (pair_tiling.h).
bool HasPairs(const ir::Node& fusion);

// Sizes that make about 128 rows of those that are not known, at least one each.  Too many tiles
// expected, and none would fetch enough weights ahead: [128 b, 3072] x [3072, 768] with weights
// from memory took 1.38 times as long for b = 1 when b was assumed to be 128.
ir::SymbolMap UsualSizes(const ContractionTiling& plan);

// Sizes, strides and padding of a channels-last convolution with one to three spatial dimensions;
// Unimplemented for any other.
absl::StatusOr<ConvolutionGeometry> GeometryOf(const ir::Node& convolution,
                                               const ops::ConvDims& dims);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_TILING_H_
