// The epilogue of a contraction, computed on its accumulators: bias, activation, residual, any
// elementwise chain, then the store.
//
// The results' space is [batch dims..., row dims..., column dims...] (collapse_dims has merged
// dimensions); a tile's row m and column n are turned into an index of that space, and
// ElementEmitter does the rest with the contraction bound to the accumulator.  Where columns are
// read in groups (jit/ir/column_groups.h), the space has the columns of one group, and each slice
// is computed with the contraction bound to its group's accumulator.
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_EPILOGUE_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_EPILOGUE_H_

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/contraction/contraction_tiling.h"
#include "backends/cpu/contraction/row_tiles.h"
#include "backends/cpu/emit/elements.h"
#include "jit/ir/column_groups.h"

namespace tektite::cpu {

// Pairs of a parameter and an output that may share memory: the epilogue reads the parameter's
// element right before it writes the output's, and nothing else reads it.
std::vector<std::pair<int, int>> EpilogueInPlace(const ir::Graph& region, const ir::Node& root);

// The columns of a vector: one after the other from `first`, those that the mask has, if it is one.
struct VectorColumns {
  loop::Value first, mask;
};

// Arrays above this may come from beyond L2, since what other kernels touch pushes them out:
// fetching right-hand sides of 64 KB to 1 MB ahead took MobileNetV2's kernels from 3.30 ms to 2.99.
inline constexpr int64_t kStreamedBytes = 64 << 10;

// Where a tile's first row and column are, and in arrays with the results' own shape.
struct TilePlace {
  loop::Value batch, row, column, element;
};

class Epilogue {
 public:
  Epilogue() = default;
  // Unimplemented when the results' dimensions do not split into batch, rows and columns.
  static absl::StatusOr<Epilogue> Create(const ir::Graph& region, const ContractionTiling& plan,
                                         ir::ColumnGroups groups = {});

  // Finishes a tile: its rows of one batch, plan.panel() columns from `column` on; accumulators row
  // by row.  Rows that do not exist and columns beyond n are not stored.
  absl::Status Emit(loop::Builder& b, loop::Value batch, const RowTile& tile, loop::Value column,
                    const std::vector<loop::Value>& accumulators) const;
  // The same for vectors that may lie anywhere, one for each of plan.vectors.
  absl::Status Emit(loop::Builder& b, loop::Value batch, const RowTile& tile,
                    absl::Span<const VectorColumns> columns,
                    const std::vector<loop::Value>& accumulators) const;
  // The same for a panel of groups, `column` within each, and rows that all exist: a loop over
  // vectors of `sums`, scratch for the accumulators.  (Side by side, an LSTM's gates of four
  // vectors were 24 KB of code that took 20 ms longer to compile and ran no faster.)
  absl::Status EmitGroups(loop::Builder& b, loop::Value batch, int rows, loop::Value column,
                          const std::vector<loop::Value>& accumulators, loop::Value sums) const;
  // Chooses what Prefetch asks for: arrays that the caches of a core, of which L2 has `l2_bytes`,
  // do not hold beside the rest.  Returns whether there are any.
  bool ChoosePrefetch(int64_t l2_bytes);
  TilePlace PlaceOf(loop::Builder& b, loop::Value batch, const RowTile& tile,
                    loop::Value column) const;
  // Asks for the lines of those arrays that Emit will touch for a row of the tile.
  void Prefetch(loop::Builder& b, const TilePlace& tile, loop::Value row) const;
  // A mask per vector of a panel; none where every column exists.
  std::vector<loop::Value> ColumnMasks(loop::Builder& b, loop::Value column) const;

 private:
  Indices PositionOf(loop::Builder& b, loop::Value batch, loop::Value m, loop::Value n) const;
  // Elements of a row from `at` on, of which the accumulator holds the product's.
  void WriteRow(ElementEmitter& e, const Indices& at, loop::Value sum) const;
  void BindSum(ElementEmitter& e, loop::Value sum) const;
  void WriteResults(ElementEmitter& e, const Indices& at) const;

  const ir::Graph* region_ = nullptr;
  const ContractionTiling* plan_ = nullptr;
  ir::ColumnGroups groups_;
  ir::Dims space_;
  // What is prefetched: buffers with the results' own shape, and parts of larger ones.
  std::vector<std::pair<int, ir::DType>> streamed_;
  std::vector<ir::Value> parts_;
  size_t batch_dims_ = 0, row_dims_ = 0, column_dims_ = 0;
};

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_EPILOGUE_H_
