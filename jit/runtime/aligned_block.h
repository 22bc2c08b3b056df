// One piece of uninitialized memory for tensors: aligned, owned, counted.
//
//   AlignedBlock block = AlignedBlock::Allocate(bytes);
//   if (block.data() == nullptr) return absl::ResourceExhaustedError(...);
//
// Aligned to a cache line, and from 4 MiB on to a huge page, which the system is then asked to use:
// weights and activations are read in long streams, and 4 KiB pages cost them address translations.
//
// A host may offer its own memory (HostMemory).  An allocator that keeps what it is given back, as
// TensorFlow's does, has pages to spare that nobody else can use: of BERT-base's 324 MiB of packed
// weights 120 fit into them.
#ifndef TEKTITE_JIT_RUNTIME_ALIGNED_BLOCK_H_
#define TEKTITE_JIT_RUNTIME_ALIGNED_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "jit/base/rounding.h"

namespace tektite::runtime {

inline constexpr int64_t kAlignment = 64;
inline int64_t AlignUp(int64_t bytes) { return RoundUp(bytes, kAlignment); }
// What a process can address: no buffer is larger, so that sums of thousands of sizes fit 64 bits.
inline constexpr int64_t kMostBytes = int64_t{1} << 47;

// Where blocks come from; none by default.  `allocate` may answer null at any time: the block is
// then the system's.  Any thread may call both, and any time later.
struct HostMemory {
  void* context = nullptr;
  void* (*allocate)(void* context, size_t bytes) = nullptr;  // aligned to kAlignment
  void (*release)(void* context, void* block) = nullptr;
};

class AlignedBlock {
 public:
  AlignedBlock() = default;
  ~AlignedBlock();
  AlignedBlock(AlignedBlock&& other) noexcept { *this = std::move(other); }
  AlignedBlock& operator=(AlignedBlock&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(host_, other.host_);
    return *this;
  }

  // data() is null when there is no memory; never null otherwise, also for 0 bytes.
  static AlignedBlock Allocate(int64_t bytes, const HostMemory& host = {});

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  HostMemory host_;  // whose it is; without functions: the system's
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_ALIGNED_BLOCK_H_
