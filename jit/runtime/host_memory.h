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
#ifndef TEKTITE_JIT_RUNTIME_HOST_MEMORY_H_
#define TEKTITE_JIT_RUNTIME_HOST_MEMORY_H_

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
  backend::Block Allocate(int64_t bytes) override;

 protected:
  void Free(void* data, int64_t bytes, int source) override;

 private:
  enum Source { kSystem, kAllocator };
  const HostAllocator allocator_;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_HOST_MEMORY_H_
