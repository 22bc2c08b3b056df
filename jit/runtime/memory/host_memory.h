// The host's memory: aligned blocks of the system's or of the allocator that a host offers.
//
//   HostMemory memory(allocator);
//   backend::Block block = memory.Allocate(bytes);
//
// Aligned to a cache line, and from 4 MiB on to a huge page, which the system is then asked to use:
// weights and activations are read in long streams, and 4 KiB pages cost them address translations.
//
// A host may offer its own allocator.  One that keeps freed blocks, as TensorFlow's does, has pages
// to spare that nothing else can use: of BERT-base's 324 MiB of packed weights 120 fit into them.
#ifndef TEKTITE_JIT_RUNTIME_MEMORY_HOST_MEMORY_H_
#define TEKTITE_JIT_RUNTIME_MEMORY_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "jit/backend/memory.h"
#include "jit/base/memory_limit.h"

namespace tektite::runtime {

using backend::AlignUp;
using backend::kAlignment;
using backend::kMostBytes;

// A block that it does not have is the system's.
using HostAllocator = backend::MemorySource;

class HostMemory final : public backend::Memory {
 public:
  explicit HostMemory(const HostAllocator& allocator = {}) : allocator_(allocator) {}
  backend::MemorySpace space() const override { return backend::MemorySpace::kHost; }
  int64_t limit() const override { return MemoryLimit(); }
  backend::Block Allocate(int64_t bytes) override { return Allocate(bytes, /*at_once=*/true); }

  // For large blocks that are filled little by little.  Small pages that the host's memory has
  // already are exchanged by calls of ExchangePages, since no call should wait for all of them.
  backend::Block AllocateForLater(int64_t bytes) { return Allocate(bytes, /*at_once=*/false); }
  // Makes the block's next huge page of it one, from byte `begin` on; returns where it ends.
  static int64_t ExchangePages(std::byte* memory, int64_t bytes, int64_t begin);

 protected:
  void Free(void* data, int64_t bytes, int source) override;

 private:
  enum Source { kSystem, kAllocator };
  backend::Block Allocate(int64_t bytes, bool at_once);
  const HostAllocator allocator_;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_MEMORY_HOST_MEMORY_H_
