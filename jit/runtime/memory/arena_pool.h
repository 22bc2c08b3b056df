// Arenas in a device's memory that calls borrow, one each, and return when they end.
//
//   ArenaPool::Lease lease = pool.Acquire(plan.arena_bytes);
//   if (lease.data() == nullptr) return absl::ResourceExhaustedError(...);
//
// Why: fresh memory costs a page fault for every 4 KiB at its first touch, more than many a kernel.
// One pool serves every executable of a compiler, so that a hundred shapes of a model share the
// memory of the largest.  A block that is too small is replaced rather than kept beside its
// successor: the pool holds as many blocks as calls ever ran at once, at most kMaxIdle of them
// idle.  The blocks of a large arena are leases of their own (arena_layout.h).
//
// A call on a host's stream (StreamOptions::host_stream) returns its arena before the device has
// done with it.  The next call on that stream may take it at once, since its work comes later; no
// other call gets it.
#ifndef TEKTITE_JIT_RUNTIME_MEMORY_ARENA_POOL_H_
#define TEKTITE_JIT_RUNTIME_MEMORY_ARENA_POOL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "jit/runtime/host_device.h"
#include "jit/runtime/memory/arena_layout.h"

namespace tektite::runtime {

class ArenaPool {
 public:
  // The host's memory by default.
  explicit ArenaPool(std::shared_ptr<backend::Device> device = std::make_shared<HostDevice>())
      : device_(std::move(device)) {}
  const std::shared_ptr<backend::Device>& device() const { return device_; }

  class Lease {
   public:
    Lease(ArenaPool* pool, backend::Block block, void* host_stream)
        : pool_(pool), block_(std::move(block)), host_stream_(host_stream) {}
    Lease(Lease&&) = default;
    ~Lease() {
      if (block_.data() != nullptr) pool_->Release(std::move(block_), host_stream_);
    }
    std::byte* data() const { return block_.data(); }

   private:
    ArenaPool* pool_;
    backend::Block block_;
    void* host_stream_;
  };

  ~ArenaPool();
  // At least `bytes`, uninitialized, for work on the host's stream; null: on streams that are
  // waited for before the lease ends.  The pool must outlive the lease.
  Lease Acquire(int64_t bytes, void* host_stream = nullptr);
  // Returns idle blocks to the device's memory, where they are so large that another user of it
  // would miss them.
  void ReleaseLargeIdle();
  // Bytes held, lent or idle.
  int64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kMaxIdle = 48;
  // What would be missed when all of it is idle, and the least block of that.
  static constexpr int64_t kLargeBytes = ArenaOrder::kCutFrom;
  static constexpr int64_t kLargeBlock = ArenaOrder::kLeastBlock;
  struct Idle {
    backend::Block block;
    void* host_stream = nullptr;  // that may still use it
  };
  void Release(backend::Block block, void* host_stream);
  // Under the lock: the best block that is idle, or an empty one, and those that it outgrew.
  Idle TakeIdle(int64_t bytes, void* host_stream, std::vector<Idle>* outgrown);
  // Frees it when the host's stream has done with it.
  void Free(Idle idle);

  const std::shared_ptr<backend::Device> device_;
  // std and not absl: the system's abseil is not instrumented, so ThreadSanitizer cannot see its
  // locks.
  std::mutex mutex_;
  std::vector<Idle> idle_;
  std::atomic<int64_t> held_bytes_{0};
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_MEMORY_ARENA_POOL_H_
