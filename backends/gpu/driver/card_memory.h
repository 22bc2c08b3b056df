// A card's memory: blocks from a pool of the driver that keeps what is given back.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto memory, CardMemory::Create(card, device, /*limit=*/8 << 30));
//   backend::Block block = memory->Allocate(bytes);
//
// The pool is Tektite's own, so that other users of CUDA in the process keep theirs.  It keeps all
// that was given back up to the limit, so that an allocation seldom reaches the system.  When the
// card has no memory left, the pool returns what it keeps, and the allocation is tried once more.
//
// A block is ready for every stream when Allocate returns, and nothing on the card may still use it
// when it is given back: calls synchronize their streams before they let go of a block, or have the
// card keep it until then (unfinished_work.h).
//
// A host that keeps the card's memory to itself may offer some of it, which is then taken first.
//
// Limits: a block is a multiple of 512 bytes.
#ifndef TEKTITE_BACKENDS_GPU_DRIVER_CARD_MEMORY_H_
#define TEKTITE_BACKENDS_GPU_DRIVER_CARD_MEMORY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "backends/gpu/driver/driver_types.h"
#include "jit/backend/memory.h"

namespace tektite::gpu {

class Card;

class CardMemory final : public backend::Memory {
 public:
  // The card outlives the memory; its context is current.
  static absl::StatusOr<std::unique_ptr<CardMemory>> Create(Card* card, CuDevice device,
                                                            int64_t limit);
  ~CardMemory() override;
  backend::MemorySpace space() const override { return backend::MemorySpace::kDevice; }
  int64_t limit() const override { return limit_; }
  backend::Block Allocate(int64_t bytes) override;
  void Offer(const backend::MemorySource& source) override;

 protected:
  void Free(void* data, int64_t bytes, int source) override;

 private:
  enum Source { kPool, kHosts };

  CardMemory(Card* card, int64_t limit) : card_(*card), limit_(limit) {}
  backend::Block AllocateNow(int64_t rounded);
  CuResult TryAllocate(int64_t bytes, CuAddress* address);

  Card& card_;
  const int64_t limit_;
  CuMemoryPool pool_ = nullptr;
  CuStream stream_ = nullptr;  // of allocations alone
  std::atomic<const backend::MemorySource*> hosts_{nullptr};
  std::unique_ptr<const backend::MemorySource> hosts_source_;
  std::once_flag offered_;
  std::atomic<int64_t> used_{0};
};

}  // namespace tektite::gpu

#endif  // TEKTITE_BACKENDS_GPU_DRIVER_CARD_MEMORY_H_
