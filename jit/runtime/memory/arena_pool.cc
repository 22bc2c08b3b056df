#include "jit/runtime/memory/arena_pool.h"

#include <algorithm>
#include <iterator>

namespace tektite::runtime {

using backend::Block;

ArenaPool::~ArenaPool() {
  // The hosts' streams may be gone, so that nothing more can be told to them.
  device_->Drain();
}

void ArenaPool::Free(Idle idle) {
  held_bytes_.fetch_sub(idle.block.bytes(), std::memory_order_relaxed);
  if (idle.block.data() == nullptr || idle.host_stream == nullptr) return;
  backend::StreamOptions options;
  options.host_stream = idle.host_stream;
  const auto kept = std::make_shared<const Block>(std::move(idle.block));
  device_
      ->WithStream(options,
                   [&](backend::Stream& stream) {
                     stream.Keep(kept);
                     return stream.End();
                   })
      .IgnoreError();
}

ArenaPool::Idle ArenaPool::TakeIdle(int64_t bytes, void* host_stream, std::vector<Idle>* outgrown) {
  // Blocks of large arenas are many: new ones take the place of as much memory.
  int64_t freed = 0;
  do {
    auto best = idle_.end(), largest = idle_.end();
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
      if (it->host_stream != host_stream) continue;
      const int64_t has = it->block.bytes();
      if (has >= bytes && (best == idle_.end() || has < best->block.bytes())) best = it;
      if (largest == idle_.end() || has > largest->block.bytes()) largest = it;
    }
    if (best == idle_.end()) best = largest;
    if (best == idle_.end()) return {};
    const int64_t has = best->block.bytes();
    if (freed > 0 && has < kLargeBlock) return {};
    Idle taken = std::move(*best);
    *best = std::move(idle_.back());
    idle_.pop_back();
    if (has >= bytes) return taken;
    outgrown->push_back(std::move(taken));
    freed += has;
  } while (freed < bytes);
  return {};
}

ArenaPool::Lease ArenaPool::Acquire(int64_t bytes, void* host_stream) {
  std::vector<Idle> outgrown;  // freed after the lock is
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Idle idle = TakeIdle(bytes, host_stream, &outgrown);
    if (idle.block.data() != nullptr) return Lease(this, std::move(idle.block), host_stream);
  }
  for (Idle& idle : outgrown) Free(std::move(idle));
  Block block = device_->memory().Allocate(bytes);
  held_bytes_.fetch_add(block.bytes(), std::memory_order_relaxed);
  return Lease(this, std::move(block), host_stream);
}

void ArenaPool::Release(Block block, void* host_stream) {
  Idle idle{std::move(block), host_stream};
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.size() < kMaxIdle) {
      idle_.push_back(std::move(idle));
      return;
    }
  }
  Free(std::move(idle));
}

void ArenaPool::ReleaseLargeIdle() {
  if (held_bytes() < kLargeBytes) return;
  std::vector<Idle> released;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto large = std::partition(idle_.begin(), idle_.end(), [](const Idle& idle) {
      return idle.block.bytes() < kLargeBlock;
    });
    std::move(large, idle_.end(), std::back_inserter(released));
    idle_.erase(large, idle_.end());
  }
  for (Idle& idle : released) Free(std::move(idle));
}

}  // namespace tektite::runtime
