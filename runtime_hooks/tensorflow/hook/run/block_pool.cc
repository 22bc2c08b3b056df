#include "runtime_hooks/tensorflow/hook/run/block_pool.h"

#include <cstdlib>
#include <iterator>

namespace tektite::tf_hook {
namespace {

// The header before a block; its size keeps the block aligned.
struct alignas(BlockPool::kAlignment) Header {
  size_t capacity;
};
static_assert(sizeof(Header) == BlockPool::kAlignment);

// Eight sizes to an octave, so that shapes that differ a little share blocks.
size_t RoundUp(size_t bytes) {
  if (bytes <= BlockPool::kSmallest) return BlockPool::kSmallest;
  const int highest_bit = 63 - __builtin_clzll(bytes - 1);
  const size_t step = size_t{1} << (highest_bit - 3);
  return (bytes + step - 1) / step * step;
}

Header* HeaderOf(void* block) { return static_cast<Header*>(block) - 1; }

void Release(void* block) { std::free(HeaderOf(block)); }

}  // namespace

BlockPool::~BlockPool() {
  for (const Idle& idle : idle_) Release(idle.block);
}

void* BlockPool::Allocate(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const size_t capacity = RoundUp(bytes);
  if (void* const block = Take(capacity); block != nullptr) return block;
  void* const memory = std::aligned_alloc(kAlignment, sizeof(Header) + capacity);
  if (memory == nullptr) return nullptr;
  auto* const header = static_cast<Header*>(memory);
  header->capacity = capacity;
  return header + 1;
}

void* BlockPool::Take(size_t capacity) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = by_capacity_.find(capacity);
  if (found == by_capacity_.end()) return nullptr;
  const IdleList::iterator latest = found->second.back();
  found->second.pop_back();
  if (found->second.empty()) by_capacity_.erase(found);
  void* const block = latest->block;
  idle_.erase(latest);
  held_bytes_ -= capacity;
  return block;
}

void BlockPool::Free(void* block) {
  if (block == nullptr) return;
  const size_t capacity = HeaderOf(block)->capacity;
  std::vector<void*> released;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back({block, capacity, ++clock_});
    by_capacity_[capacity].push_back(std::prev(idle_.end()));
    held_bytes_ += capacity;
    Trim(&released);
  }
  for (void* old : released) Release(old);
}

void BlockPool::Trim(std::vector<void*>* released) {
  while (!idle_.empty() &&
         (held_bytes_ > most_bytes_ || clock_ - idle_.front().freed_at > kMostIdle)) {
    const Idle oldest = idle_.front();
    // Of its size, too, it is the one that has been idle for longest.
    const auto same_size = by_capacity_.find(oldest.capacity);
    same_size->second.erase(same_size->second.begin());
    if (same_size->second.empty()) by_capacity_.erase(same_size);
    idle_.pop_front();
    held_bytes_ -= oldest.capacity;
    released->push_back(oldest.block);
  }
}

size_t BlockPool::held_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return held_bytes_;
}

}  // namespace tektite::tf_hook
