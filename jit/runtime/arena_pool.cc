#include "jit/runtime/arena_pool.h"

#include <cstddef>

namespace tektite::runtime {

using backend::Block;

ArenaPool::Lease ArenaPool::Acquire(int64_t bytes) {
  Block outgrown;  // freed after the lock is
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto best = idle_.end(), largest = idle_.end();
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
      if (it->bytes() >= bytes && (best == idle_.end() || it->bytes() < best->bytes())) best = it;
      if (largest == idle_.end() || it->bytes() > largest->bytes()) largest = it;
    }
    if (best == idle_.end()) best = largest;
    if (best != idle_.end()) {
      Block block = std::move(*best);
      *best = std::move(idle_.back());
      idle_.pop_back();
      if (block.bytes() >= bytes) return Lease(this, std::move(block));
      outgrown = std::move(block);
    }
  }
  held_bytes_.fetch_sub(outgrown.bytes(), std::memory_order_relaxed);
  outgrown = Block();
  Block block = device_->memory().Allocate(bytes);
  held_bytes_.fetch_add(block.bytes(), std::memory_order_relaxed);
  return Lease(this, std::move(block));
}

void ArenaPool::Release(Block block) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.size() < kMaxIdle) {
    idle_.push_back(std::move(block));
  } else {
    held_bytes_.fetch_sub(block.bytes(), std::memory_order_relaxed);
  }
}

void ArenaPool::ReleaseLargeIdle() {
  if (held_bytes() < kLargeBytes) return;
  std::vector<Block> released;  // freed after the lock is
  std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = idle_.size(); i-- > 0;) {
    if (idle_[i].bytes() < kLargeBytes) continue;
    held_bytes_.fetch_sub(idle_[i].bytes(), std::memory_order_relaxed);
    released.push_back(std::move(idle_[i]));
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace tektite::runtime
