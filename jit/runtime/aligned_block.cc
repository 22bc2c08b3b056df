#include "jit/runtime/aligned_block.h"

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

AlignedBlock AlignedBlock::Allocate(int64_t bytes, const HostMemory& host) {
  AlignedBlock block;
  if (bytes < 0 || bytes > kMostBytes) return block;
  const bool huge = bytes >= kHugeFrom;
  const int64_t rounded = bytes == 0 ? kAlignment : AlignUp(bytes);
  void* memory = nullptr;
  if (host.allocate != nullptr) memory = host.allocate(host.context, rounded);
  if (memory != nullptr) {
    block.host_ = host;
  } else if (posix_memalign(&memory, huge ? kHugePage : kAlignment, rounded) != 0) {
    return block;
  }
  block.data_ = static_cast<std::byte*>(memory);
  block.bytes_ = rounded;
  if (huge) UseHugePages(block.data_, rounded, block.host_.release != nullptr);
  return block;
}

AlignedBlock::~AlignedBlock() {
  if (host_.release == nullptr) {
    std::free(data_);
  } else {
    host_.release(host_.context, data_);
  }
}

}  // namespace tektite::runtime
