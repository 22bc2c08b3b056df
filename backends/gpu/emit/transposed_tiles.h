// Loop fusions that read along one dimension and write along another: a tile of what is transposed
// passes through shared memory, so that a warp reads and writes whole lines.
//
//   if (const auto tiles = TransposedTiles::Of(region, writes)) return tiles->Emit(kernel);
//
// A block takes a square of 128 bytes a side, of the dimension that results are contiguous in and
// of the one that the operands of its transposes are.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_TRANSPOSED_TILES_H_
#define TEKTITE_BACKENDS_GPU_EMIT_TRANSPOSED_TILES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "jit/ir/graph.h"
#include "jit/ir/writes.h"
#include "jit/llvm/loop_ir.h"

namespace tektite::gpu {

class TransposedTiles {
 public:
  // None where nothing is transposed, where what is computed from it is not elementwise, or where a
  // side is known to be short.  All three must outlive the result.
  static std::optional<TransposedTiles> Of(const ir::Graph& region, const ir::Writes& writes);
  // Sets the launch, too.
  absl::Status Emit(loop::Kernel* kernel) const;

 private:
  TransposedTiles(const ir::Graph& region, const ir::Writes& writes)
      : region_(region), writes_(writes) {}

  const ir::Graph& region_;
  const ir::Writes& writes_;
  std::vector<ir::Node*> transposes_;
  size_t along_ = 0;    // dimension of the space along which operands are read
  int64_t vector_ = 1;  // elements of a thread, side by side
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_TRANSPOSED_TILES_H_
