// Sorting in phases: many lines, or one that no block holds.
//
//   const SortKey key(DType::kF32, /*descending=*/false);
//   LineSorter sorter(&phases, key, {lines, length, wanted});       // before the first phase
//   sorter.AddPhases([&](b, line, at) { return key.Entry(b, ..., at); },
//                    [&](b, line, at, entry) { ... entry `at` of the line's order ... });
//
// A first phase sorts tiles of up to 1024 entries, an entry a thread: bitonic, with exchanges in
// warps and through shared memory between them.  Each later phase merges two runs to one: an entry
// finds its place by its own number and a binary search among the other run's.  A line of unknown
// length is merged by one block, however long it is.  Lines of 2^31 entries or more are refused: in
// a call where they are not known before.
//
// Where only the first `wanted` of each line are needed, runs are cut to so many.
#ifndef TEKTITE_BACKENDS_GPU_EMIT_ORDER_LINE_SORTER_H_
#define TEKTITE_BACKENDS_GPU_EMIT_ORDER_LINE_SORTER_H_

#include <functional>
#include <vector>

#include "backends/gpu/emit/order/sort_key.h"
#include "backends/gpu/emit/phases.h"

namespace tektite::gpu {

class LineSorter {
 public:
  using Values = EntryOrder::Values;
  using Source = std::function<Values(loop::Builder&, loop::Value line, loop::Value at)>;
  using Sink =
      std::function<void(loop::Builder&, loop::Value line, loop::Value at, const Values& entry)>;
  struct Lines {
    ir::Dim count, length, wanted;  // of each line's order
  };

  // Borrows the phases and the order.
  LineSorter(Phases* phases, const EntryOrder& order, Lines lines);
  void AddPhases(const Source& source, const Sink& sink);

 private:
  void SortTiles(loop::Builder& b, const Source& source, const Sink& sink);
  Values Bitonic(loop::Builder& b, Values entry, loop::Value place);
  Values Step(loop::Builder& b, const Values& mine, const Values& other, loop::Value place,
              loop::Value size, loop::Value distance);
  void Merge(loop::Builder& b, int pass, const Sink& sink);
  void MergeInBlocks(loop::Builder& b, const Sink& sink);
  void Place(loop::Builder& b, loop::Value line, loop::Value at, loop::Value run, loop::Value half,
             const std::function<void(loop::Value at, const Values& entry)>& sink);
  Values Load(loop::Builder& b, loop::Value line, loop::Value at, loop::Value half) const;
  void Store(loop::Builder& b, loop::Value line, loop::Value at, loop::Value half,
             const Values& entry) const;
  bool is_one_tile() const { return lines_.length.value_or(tile_ + 1) <= tile_; }

  Phases& phases_;
  const EntryOrder& order_;
  const Lines lines_;
  int64_t tile_ = 1;
  std::vector<int> scratch_;  // by part: two halves, each of all lines
};

// How many of the entries that `load` returns for [0, count), which are in order, come before
// `entry`.
loop::Value CountBefore(loop::Builder& b, const EntryOrder& order, const ir::Dim& most,
                        loop::Value count, const EntryOrder::Values& entry,
                        const std::function<EntryOrder::Values(loop::Value)>& load);

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_EMIT_ORDER_LINE_SORTER_H_
