#include "backends/gpu/driver/card_memory.h"

#include <algorithm>

#include "backends/gpu/driver/card.h"
#include "backends/gpu/driver/unfinished_work.h"
#include "jit/base/log.h"
#include "jit/base/rounding.h"
#include "jit/base/status.h"

namespace tektite::gpu {
namespace {

constexpr int64_t kGranule = 512;

}  // namespace

absl::StatusOr<std::unique_ptr<CardMemory>> CardMemory::Create(Card* card, CuDevice device,
                                                               int64_t limit) {
  std::unique_ptr<CardMemory> memory(new CardMemory(card, limit));
  const Driver& driver = card->driver();
  CuMemoryPoolProperties properties;
  properties.location = device;
  TEKTITE_RETURN_IF_ERROR(
      card->Check(driver.MemPoolCreate(&memory->pool_, &properties), "making a memory pool"));
  auto kept = static_cast<uint64_t>(limit);
  TEKTITE_RETURN_IF_ERROR(
      card->Check(driver.MemPoolSetAttribute(memory->pool_, kCuReleaseThreshold, &kept),
                  "setting up the memory pool"));
  TEKTITE_RETURN_IF_ERROR(
      card->Check(driver.StreamCreate(&memory->stream_, kCuNonBlockingStream), "making a stream"));
  return memory;
}

CardMemory::~CardMemory() {
  if (!card_.takes_back()) return;
  const Card::Scope scope(card_);
  if (stream_ != nullptr) {
    card_.driver().StreamSynchronize(stream_);
    card_.driver().StreamDestroy(stream_);
  }
  if (pool_ != nullptr) card_.driver().MemPoolDestroy(pool_);
}

CuResult CardMemory::TryAllocate(int64_t bytes, CuAddress* address) {
  const Driver& driver = card_.driver();
  const CuResult result =
      driver.MemAllocFromPoolAsync(address, static_cast<size_t>(bytes), pool_, stream_);
  return result == kCuSuccess ? driver.StreamSynchronize(stream_) : result;
}

backend::Block CardMemory::Allocate(int64_t bytes) {
  if (bytes < 0 || bytes > limit_ || !card_.status().ok()) return {};
  const int64_t rounded = RoundUp(std::max<int64_t>(bytes, 1), kGranule);
  backend::Block block = AllocateNow(rounded);
  if (block.data() != nullptr || card_.unfinished().empty()) return block;
  // What is kept until the card has run something may be enough.
  card_.Drain();
  return AllocateNow(rounded);
}

void CardMemory::Offer(const backend::MemorySource& source) {
  std::call_once(offered_, [&] {
    hosts_source_ = std::make_unique<const backend::MemorySource>(source);
    hosts_.store(hosts_source_.get(), std::memory_order_release);
  });
}

backend::Block CardMemory::AllocateNow(int64_t rounded) {
  if (used_.fetch_add(rounded, std::memory_order_relaxed) + rounded > limit_) {
    used_.fetch_sub(rounded, std::memory_order_relaxed);
    return {};
  }
  if (const backend::MemorySource* hosts = hosts_.load(std::memory_order_acquire)) {
    void* const data = hosts->allocate(hosts->context, static_cast<size_t>(rounded));
    if (data != nullptr) return backend::Block(this, data, rounded, kHosts);
  }
  const Card::Scope scope(card_);
  CuAddress address = 0;
  CuResult result = TryAllocate(rounded, &address);
  if (result == kCuOutOfMemory) {
    card_.driver().MemPoolTrimTo(pool_, 0);
    result = TryAllocate(rounded, &address);
  }
  const absl::Status status = card_.Check(result, "allocating memory");
  if (status.ok()) return backend::Block(this, reinterpret_cast<void*>(address), rounded, kPool);
  used_.fetch_sub(rounded, std::memory_order_relaxed);
  if (!absl::IsResourceExhausted(status)) Warn(status.message());
  return {};
}

void CardMemory::Free(void* data, int64_t bytes, int source) {
  used_.fetch_sub(bytes, std::memory_order_relaxed);
  if (!card_.takes_back()) return;
  if (source == kHosts) return hosts_source_->release(hosts_source_->context, data);
  const Card::Scope scope(card_);
  card_
      .Check(card_.driver().MemFreeAsync(reinterpret_cast<CuAddress>(data), stream_),
             "giving memory back")
      .IgnoreError();
}

}  // namespace tektite::gpu
