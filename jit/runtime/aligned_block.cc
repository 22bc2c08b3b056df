#include "jit/runtime/aligned_block.h"

#include <sys/mman.h>

#include <cstdlib>

namespace tektite::runtime {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kHugeFrom = 2 * kHugePage;

}  // namespace

AlignedBlock AlignedBlock::Allocate(int64_t bytes) {
  AlignedBlock block;
  if (bytes < 0) return block;
  const bool huge = bytes >= kHugeFrom;
  const int64_t alignment = huge ? kHugePage : kAlignment;
  const int64_t rounded = bytes == 0 ? kAlignment : AlignUp(bytes);
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, rounded) != 0) return block;
#ifdef MADV_HUGEPAGE
  // Whole huge pages only: the tail would otherwise grow to one.
  if (huge) madvise(memory, rounded / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  block.data_ = static_cast<std::byte*>(memory);
  block.bytes_ = rounded;
  return block;
}

AlignedBlock::~AlignedBlock() { std::free(data_); }

}  // namespace tektite::runtime
