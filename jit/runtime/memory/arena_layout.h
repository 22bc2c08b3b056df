// Offsets in one block of memory for buffers that are alive at different times.
//
//   ArenaOrder order({{bytes, first_step, last_step}, ...});
//   order.layout().offsets[0];                     // for these sizes
//   ArenaLayout other = order.Place({4096, 64});   // for other sizes of the same buffers
//   order.CutIntoBlocks({4096, 64}, &other);       // if it is large
//
// Buffers that are never alive together may overlap.  Where sizes depend on a call's arguments, the
// order in which buffers are placed is found once, for typical sizes, and each new set of sizes is
// placed in that order, which takes well under 100 ns a buffer.
//
// A large arena may lie in several blocks, no buffer across two of them: an allocator that keeps
// freed memory, such as TensorFlow's, has it in pieces, and none of them is as large as the arena.
// Limits: the best of a few greedy orders, within a few per cent of the lower bound on real graphs
// (max_live_bytes).
#ifndef TEKTITE_JIT_RUNTIME_MEMORY_ARENA_LAYOUT_H_
#define TEKTITE_JIT_RUNTIME_MEMORY_ARENA_LAYOUT_H_

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace tektite::runtime {

// Alive from step `first` to step `last`, both included.
struct LiveBuffer {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct ArenaLayout {
  std::vector<int64_t> offsets;  // multiples of kAlignment
  int64_t bytes = 0;
  int64_t max_live_bytes = 0;        // no layout can be smaller
  std::vector<int64_t> blocks = {};  // where each begins, in order; empty: there is one
};

class ArenaOrder {
 public:
  ArenaOrder() = default;
  explicit ArenaOrder(absl::Span<const LiveBuffer> buffers);

  const ArenaLayout& layout() const { return layout_; }
  // `bytes` by buffer.  Leaves max_live_bytes out.
  ArenaLayout Place(absl::Span<const int64_t> bytes) const {
    return Place(bytes, std::numeric_limits<int64_t>::max());
  }
  // Of kCutFrom bytes and more, makes the layout for `bytes` one of at most kMostBlocks blocks,
  // where that takes little more memory.
  void CutIntoBlocks(absl::Span<const int64_t> bytes, ArenaLayout* layout) const;

  static constexpr int64_t kCutFrom = int64_t{64} << 20;
  static constexpr int64_t kLeastBlock = int64_t{16} << 20;
  static constexpr int kMostBlocks = 32;

 private:
  using Pairs = std::vector<std::pair<int, int>>;  // buffers that are alive together

  void SetOrder(std::vector<int> order, const Pairs& together);
  // No buffer lies across a multiple of `unit` unless it begins at one.
  ArenaLayout Place(absl::Span<const int64_t> bytes, int64_t unit) const;

  std::vector<int> order_;
  // For each buffer of the order, those placed before it that are alive together with it: of the
  // i-th, earlier_[first_earlier_[i]] and on, up to the next one's.
  std::vector<int> first_earlier_, earlier_;
  ArenaLayout layout_;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_MEMORY_ARENA_LAYOUT_H_
