#include "jit/runtime/weights/weights.h"

#include <algorithm>
#include <utility>

namespace tektite::runtime {

bool MemoryBudget::Reserve(int64_t bytes) {
  int64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ - used) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

std::shared_ptr<WeightBlock> WeightBlock::Create(std::shared_ptr<MemoryBudget> budget,
                                                 int64_t bytes) {
  return Create(std::move(budget), bytes, /*for_later=*/false);
}

std::shared_ptr<WeightBlock> WeightBlock::CreateForLater(std::shared_ptr<MemoryBudget> budget,
                                                         int64_t bytes) {
  return Create(std::move(budget), bytes, /*for_later=*/true);
}

bool WeightBlock::PreparePages() {
  if (prepared_ >= reserved_) return false;
  prepared_ = HostMemory::ExchangePages(memory_.data(), reserved_, prepared_);
  return prepared_ < reserved_;
}

std::shared_ptr<WeightBlock> WeightBlock::Create(std::shared_ptr<MemoryBudget> budget,
                                                 int64_t bytes, bool for_later) {
  const int64_t reserved = std::max(AlignUp(bytes), kAlignment);
  if (!budget->Reserve(reserved)) return nullptr;
  backend::Memory& device = budget->device().memory();
  auto* const host = for_later ? dynamic_cast<HostMemory*>(&device) : nullptr;
  backend::Block memory =
      host != nullptr ? host->AllocateForLater(reserved) : device.Allocate(reserved);
  if (memory.data() == nullptr) {
    budget->Return(reserved);
    return nullptr;
  }
  return std::shared_ptr<WeightBlock>(
      new WeightBlock(std::move(budget), reserved, std::move(memory)));
}

std::vector<WeightStore::Entry*> WeightStore::Register(
    WeightHolder* holder, const std::vector<const std::vector<uint64_t>*>& signatures) {
  std::lock_guard<std::mutex> lock(mutex_);
  holders_.push_back(holder);
  std::vector<Entry*> entries;
  entries.reserve(signatures.size());
  entries_.reserve(entries_.size() + signatures.size());
  for (const auto* signature : signatures) {
    std::unique_ptr<Entry>& entry = entries_[*signature];
    if (entry == nullptr) entry = std::make_unique<Entry>();
    ++entry->users;
    entries.push_back(entry.get());
  }
  return entries;
}

void WeightStore::Unregister(WeightHolder* holder,
                             const std::vector<const std::vector<uint64_t>*>& signatures) {
  std::lock_guard<std::mutex> lock(mutex_);
  holders_.erase(std::find(holders_.begin(), holders_.end(), holder));
  for (const auto* signature : signatures) {
    auto it = entries_.find(*signature);
    if (--it->second->users == 0) entries_.erase(it);
  }
}

void WeightStore::Publish(Entry* entry, std::vector<uint64_t> versions,
                          std::shared_ptr<const WeightBlock> block, const WeightHolder* publisher) {
  const bool replaced = entry->block != nullptr;
  entry->versions = std::move(versions);
  entry->block = std::move(block);
  if (!replaced) return;
  for (WeightHolder* holder : holders_) {
    if (holder != publisher) holder->ReleaseWeights();
  }
}

}  // namespace tektite::runtime
