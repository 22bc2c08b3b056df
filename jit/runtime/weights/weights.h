// Results that were computed from weights alone, kept from call to call.
//
// A cluster has one WeightStore for all its executables (shapes), because they pack the same
// weights in the same way: an entry is found by the signature of the weight group (see
// step_graph.h) and holds the results for one set of the weights' versions, the latest.  Results
// are shared by count: a call that still runs with old ones keeps them until it ends.
// Example(WeightStore& store, WeightHolder& holder, const std::vector<uint64_t>& signature):
//   WeightStore::Entry* entry = store.Register(&holder, {&signature}).front();
//   std::lock_guard<std::mutex> lock(store.mutex());
//   if (entry->versions != std::vector<uint64_t>{7}) {         // not this call's
//     auto block = WeightBlock::Create(store.budget(), 4096);  // compute into block->data()
//     store.Publish(entry, {7}, block, &holder);
//   }
//
// Memory is counted against one MemoryBudget for the whole compiler.
#ifndef TEKTITE_JIT_RUNTIME_WEIGHTS_WEIGHTS_H_
#define TEKTITE_JIT_RUNTIME_WEIGHTS_WEIGHTS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/runtime/host_device.h"
#include "jit/runtime/weights/late_packing.h"
#include "jit/runtime/weights/resident_arguments.h"

namespace tektite::runtime {

class MemoryBudget {
 public:
  // Counts bytes of the device's memory, the host's by default.
  explicit MemoryBudget(int64_t limit,
                        std::shared_ptr<backend::Device> device = std::make_shared<HostDevice>())
      : limit_(limit), device_(std::move(device)) {}
  bool Reserve(int64_t bytes);
  void Return(int64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  backend::Device& device() const { return *device_; }

 private:
  const int64_t limit_;
  const std::shared_ptr<backend::Device> device_;
  std::atomic<int64_t> used_{0};
};

// A group's kept results; its bytes return to the budget when the last user releases it.
class WeightBlock {
 public:
  // Null when the budget or the memory does not allow it.
  static std::shared_ptr<WeightBlock> Create(std::shared_ptr<MemoryBudget> budget, int64_t bytes);
  // Of the host's memory, for blocks that are filled little by little: PreparePages before that.
  static std::shared_ptr<WeightBlock> CreateForLater(std::shared_ptr<MemoryBudget> budget,
                                                     int64_t bytes);
  // Prepares some 2 MiB; false: nothing is left to prepare.
  bool PreparePages();
  ~WeightBlock() { budget_->Return(reserved_); }
  std::byte* data() const { return memory_.data(); }

 private:
  WeightBlock(std::shared_ptr<MemoryBudget> budget, int64_t reserved, backend::Block memory)
      : budget_(std::move(budget)), reserved_(reserved), memory_(std::move(memory)) {}
  static std::shared_ptr<WeightBlock> Create(std::shared_ptr<MemoryBudget> budget, int64_t bytes,
                                             bool for_later);

  std::shared_ptr<MemoryBudget> budget_;
  const int64_t reserved_;  // the memory may round it up
  int64_t prepared_ = 0;    // bytes
  backend::Block memory_;
};

// An object that holds blocks between calls and releases them when told.
class WeightHolder {
 public:
  virtual ~WeightHolder() = default;
  virtual void ReleaseWeights() = 0;
};

class WeightStore {
 public:
  struct Entry {
    int users = 0;
    std::vector<uint64_t> versions;
    std::shared_ptr<const WeightBlock> block;
    Deferral deferral;  // of a deferred group
  };

  explicit WeightStore(std::shared_ptr<MemoryBudget> budget)
      : budget_(std::move(budget)), resident_(budget_) {}
  const std::shared_ptr<MemoryBudget>& budget() const { return budget_; }

  // The signature must stay valid until Unregister.
  std::vector<Entry*> Register(WeightHolder* holder,
                               const std::vector<const std::vector<uint64_t>*>& signatures);
  void Unregister(WeightHolder* holder,
                  const std::vector<const std::vector<uint64_t>*>& signatures);

  // Weights that kernels of another device than the host's read as they are.
  ResidentArguments& resident() { return resident_; }

  // Held while weights are computed, so that two calls do not both do it; guards entries.
  std::mutex& mutex() { return mutex_; }
  // Guarded by mutex().
  PackingTime& packing_time() { return packing_time_; }
  // Replaces an entry's block (null: drops it) and makes the other holders release theirs.  mutex()
  // is held.
  void Publish(Entry* entry, std::vector<uint64_t> versions,
               std::shared_ptr<const WeightBlock> block, const WeightHolder* publisher);

 private:
  std::shared_ptr<MemoryBudget> budget_;
  ResidentArguments resident_;
  std::mutex mutex_;
  PackingTime packing_time_;
  absl::flat_hash_map<std::vector<uint64_t>, std::unique_ptr<Entry>> entries_;
  std::vector<WeightHolder*> holders_;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_WEIGHTS_WEIGHTS_H_
