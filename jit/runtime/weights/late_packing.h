// Packing of weights that products of few rows read: it waits until calls have found the weights
// unchanged, and then takes a small share of the calls' time.
//
// Such a product reads each weight once in a call.  Panels make that faster, but packing takes as
// long as tens of calls save, and a model's weights as long as many first calls.  Until the panels
// are there the kernels read the weights where they lie, with the same sums in the same order.
//
//   deferral.See(versions, is_known, store.calls());       // in a call whose versions are new
//   ...                                                    // after a call:
//   if (deferral.IsQuiet(store.calls()) && PackUntil(deadline, graph, group, weights, budget,
//                                                    &deferral)) {
//     store.Publish(entry, deferral.versions, deferral.Take(), holder);
//   }
//
//  * Weights wait for kQuietCalls calls.  Each time that they change, they wait for twice as many.
//    So weights that change in every call, or in every tenth, are soon left alone.
//  * A call whose weights are not packed spends an eighth of its time on packing behind its work,
//    or a chunk of the packing kernel, which later calls make up for.
//  * Whoever packs holds the store's mutex, and other calls do not wait for it: they go on without.
//
// Limits: for the host's device.
#ifndef TEKTITE_JIT_RUNTIME_WEIGHTS_LATE_PACKING_H_
#define TEKTITE_JIT_RUNTIME_WEIGHTS_LATE_PACKING_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace tektite::runtime {

class MemoryBudget;
class WeightBlock;
struct StepGraph;

// How far the packing of one deferred group has come.  Guarded by WeightStore::mutex.
class Deferral {
 public:
  static constexpr int64_t kQuietCalls = 4;
  static constexpr int kMostDoublings = 8;

  // The group's weights in call number `now`.  Not known: they have no versions.
  void See(const std::vector<uint64_t>& versions, bool is_known, int64_t now);
  // Whether the weights of these versions are those that are waited for.
  bool WaitsFor(const std::vector<uint64_t>& versions) const;
  bool IsQuiet(int64_t now) const { return now - seen_since_ >= wait_; }
  // The full block; the next one begins from the start.
  std::shared_ptr<const WeightBlock> Take();
  // There is no memory for them.
  void Refuse();

 private:
  friend bool PackUntil(int64_t deadline, const StepGraph& graph, int group, const void* weights,
                        const std::shared_ptr<MemoryBudget>& budget, Deferral* deferral);

  std::vector<uint64_t> versions_;
  bool is_known_ = false, is_refused_ = false;
  int64_t seen_since_ = 0, wait_ = kQuietCalls;
  int doublings_ = 0;
  std::shared_ptr<WeightBlock> block_;
  int64_t next_chunk_ = 0;
};

// Packs the weights of a deferred group from where it ended last until Nanoseconds() reaches the
// deadline, but at least one chunk; before the first one it prepares the block's memory, a huge
// page at a time.  Returns whether all is done.
bool PackUntil(int64_t deadline, const StepGraph& graph, int group, const void* weights,
               const std::shared_ptr<MemoryBudget>& budget, Deferral* deferral);

// The share of the calls' time that packing takes.  Guarded by WeightStore::mutex.
class PackingTime {
 public:
  static constexpr int64_t kShare = 8;

  // Of calls that have looked for something to pack.
  int64_t calls() const { return calls_; }
  // A call that took so long has ended.  Returns how long packing may take now; 0: not at all.
  int64_t Earn(int64_t nanoseconds);
  void Spend(int64_t nanoseconds) { credit_ -= nanoseconds; }

 private:
  int64_t calls_ = 0;
  int64_t credit_ = 0;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_WEIGHTS_LATE_PACKING_H_
