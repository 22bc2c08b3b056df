#include "jit/runtime/memory/host_memory.h"

#include <sys/mman.h>

#include <cstdlib>

namespace tektite::runtime {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kHugeFrom = 2 * kHugePage;

// Linux 6.1; older ones refuse it, and older headers lack it.
constexpr int kCollapse = 25;

// Asks for huge pages, whole ones only: a tail would otherwise grow to one.  The host's memory may
// have small ones already, which are then exchanged: BERT-base is 2 % slower with all of them.
void UseHugePages(std::byte* memory, int64_t bytes, bool may_have_pages) {
#ifdef MADV_HUGEPAGE
  const auto address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory));
  const int64_t begin = RoundUp(address, kHugePage);
  const int64_t end = (address + bytes) / kHugePage * kHugePage;
  if (begin >= end) return;
  void* const pages = memory + (begin - address);
  madvise(pages, end - begin, MADV_HUGEPAGE);
  if (may_have_pages) madvise(pages, end - begin, kCollapse);
#endif
}

}  // namespace

int64_t HostMemory::ExchangePages(std::byte* memory, int64_t bytes, int64_t begin) {
  const auto address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory));
  const int64_t page = RoundUp(address + begin, kHugePage) - address, end = page + kHugePage;
  if (bytes < kHugeFrom || end > bytes) return bytes;
#ifdef MADV_HUGEPAGE
  madvise(memory + page, kHugePage, kCollapse);
#endif
  return end;
}

backend::Block HostMemory::Allocate(int64_t bytes, bool at_once) {
  if (bytes < 0 || bytes > kMostBytes) return {};
  const bool huge = bytes >= kHugeFrom;
  const int64_t rounded = bytes == 0 ? kAlignment : AlignUp(bytes);
  Source source = kAllocator;
  void* memory = nullptr;
  if (allocator_.allocate != nullptr) memory = allocator_.allocate(allocator_.context, rounded);
  if (memory == nullptr) {
    source = kSystem;
    if (posix_memalign(&memory, huge ? kHugePage : kAlignment, rounded) != 0) return {};
  }
  if (huge) UseHugePages(static_cast<std::byte*>(memory), rounded, at_once && source == kAllocator);
  return backend::Block(this, memory, rounded, source);
}

void HostMemory::Free(void* data, int64_t bytes, int source) {
  if (source == kSystem) {
    std::free(data);
  } else {
    allocator_.release(allocator_.context, data);
  }
}

}  // namespace tektite::runtime
