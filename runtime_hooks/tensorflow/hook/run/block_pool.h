// Large blocks of memory that are kept for the next call when they are freed.
//
// Why: a fresh block of a megabyte is 256 page faults, which cost as much as a softmax that fills
// it.  A function that runs again and again asks for the same sizes again and again.
//
//   BlockPool pool(64 << 20);
//   void* block = pool.Allocate(2 << 20);   // fresh pages at first
//   pool.Free(block);                       // kept
//   block = pool.Allocate(2 << 20);         // the same pages
//
// The kept blocks are bounded in bytes, and a block that kMostIdle frees of other blocks have not
// brought back into use returns to the system.  Thread-safe.  Limits: a block is up to an eighth
// larger than asked for.  Meant for sizes from kSmallest on.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_BLOCK_POOL_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_BLOCK_POOL_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace tektite::tf_hook {

class BlockPool {
 public:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kSmallest = 64 << 10;
  static constexpr uint64_t kMostIdle = 1024;

  explicit BlockPool(size_t most_bytes) : most_bytes_(most_bytes) {}
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Null when there is no memory.
  void* Allocate(size_t bytes);
  void Free(void* block);
  // In blocks that nothing uses.
  size_t held_bytes() const;

 private:
  struct Idle {
    void* block;
    size_t capacity;
    uint64_t freed_at;  // of clock_
  };
  using IdleList = std::list<Idle>;  // the longest idle first

  void* Take(size_t capacity);
  // Moves blocks that are over the bound or have been idle for too long to `released`.
  void Trim(std::vector<void*>* released);

  const size_t most_bytes_;
  mutable std::mutex mutex_;  // guards the members below
  IdleList idle_;
  std::unordered_map<size_t, std::vector<IdleList::iterator>> by_capacity_;  // in idle_'s order
  size_t held_bytes_ = 0;
  uint64_t clock_ = 0;
};

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_BLOCK_POOL_H_
