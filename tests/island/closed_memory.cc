#include "tests/island/closed_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tektite::testing {
namespace {

constexpr size_t kPage = 4096;

size_t RoundUp(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

[[noreturn]] void Die(const char* name, const char* message) {
  std::fprintf(stderr, "%s: %s\n", name, message);
  std::abort();
}

std::byte* Map(const char* name, int file, size_t bytes, int protection) {
  void* const memory = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) Die(name, "no address space");
  return static_cast<std::byte*>(memory);
}

}  // namespace

ClosedMemory::ClosedMemory(const char* name, const Sizes& sizes) : sizes_(sizes) {
  const int file = memfd_create(name, 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(sizes.all)) != 0) Die(name, "no file");
  open_ = Map(name, file, sizes.all, PROT_READ | PROT_WRITE);
  closed_ = Map(name, file, sizes.all, PROT_NONE);
  close(file);
  free_[0] = sizes.all;
}

ClosedMemory::~ClosedMemory() {
  munmap(open_, sizes_.all);
  munmap(closed_, sizes_.all);
}

std::byte* ClosedMemory::Allocate(size_t bytes) {
  if (bytes > sizes_.all) return nullptr;
  const size_t rounded = RoundUp(std::max<size_t>(bytes, 1), sizes_.granule);
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [offset, room] = *it;
    if (room < rounded) continue;
    free_.erase(it);
    if (room > rounded) free_[offset + rounded] = room - rounded;
    taken_[offset] = rounded;
    held_bytes_ += static_cast<int64_t>(rounded);
    return closed_ + offset;
  }
  return nullptr;
}

bool ClosedMemory::Free(const void* address) {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t offset = OffsetOf(address);
  const auto found = taken_.find(offset);
  if (found == taken_.end()) return false;
  size_t bytes = found->second;
  taken_.erase(found);
  held_bytes_ -= static_cast<int64_t>(bytes);
  const size_t spoiled = std::min(bytes, sizes_.spoiled);
  std::memset(open_ + offset, 0xA5, spoiled);
  const size_t first = RoundUp(offset + spoiled, kPage), end = (offset + bytes) / kPage * kPage;
  if (first < end) madvise(open_ + first, end - first, MADV_REMOVE);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
    }
  }
  free_[offset] = bytes;
  return true;
}

size_t ClosedMemory::Room(const void* address) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const size_t offset = OffsetOf(address);
  const auto after = taken_.upper_bound(offset);
  if (after == taken_.begin()) return 0;
  const auto& [begin, bytes] = *std::prev(after);
  return offset < begin + bytes ? begin + bytes - offset : 0;
}

bool ClosedMemory::Holds(const void* address, size_t bytes) const {
  const size_t offset = OffsetOf(address);
  return offset <= sizes_.all && bytes <= sizes_.all - offset;
}

std::byte* ClosedMemory::Open(const void* address) const { return open_ + OffsetOf(address); }

int64_t ClosedMemory::held_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return held_bytes_;
}

// Of an address below the mapping it is larger than the mapping.
size_t ClosedMemory::OffsetOf(const void* address) const {
  return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(closed_);
}

}  // namespace tektite::testing
