// What emitters of products assume of a card and of sizes that they do not know.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_CONTRACTION_SIZES_H_
#define TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_CONTRACTION_SIZES_H_

#include <cstdint>

namespace tektite::gpu {

// Blocks that keep a large card busy: as many as the multiprocessors of an H100 or H200.
inline constexpr int64_t kManyBlocks = 132;
// A number of rows or columns that is not known: large enough for the largest tiles, as most
// products of a model are, since a small one takes a few microseconds in any tile.
inline constexpr int64_t kUsual = 1024;

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_CONTRACTION_CONTRACTION_SIZES_H_
