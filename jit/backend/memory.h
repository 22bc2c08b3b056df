// A device's memory, where the buffers of calls lie, and owned blocks of it.
//
//   Block block = device.memory().Allocate(bytes);
//   if (block.data() == nullptr) return absl::ResourceExhaustedError(...);
//
// A buffer is an address and nothing more; its holder must know which memory it is of.  Only the
// host's memory may be read and written through a pointer.  All other memory is reached by the
// copies and the kernels of a stream (stream.h), so nothing in jit/runtime dereferences a buffer
// without having asked for its space.
#ifndef TEKTITE_JIT_BACKEND_MEMORY_H_
#define TEKTITE_JIT_BACKEND_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "jit/base/rounding.h"

namespace tektite::backend {

// Every block and every buffer in it begins at a multiple of this.
inline constexpr int64_t kAlignment = 64;
inline int64_t AlignUp(int64_t bytes) { return RoundUp(bytes, kAlignment); }
// The bytes that a process can address: no buffer is larger, so sums of thousands of sizes fit 64
// bits.
inline constexpr int64_t kMostBytes = int64_t{1} << 47;

// Which memory a tensor of a call lies in.
enum class MemorySpace : uint8_t { kHost, kDevice };

class Block;

// Another source of a memory, which the host of the process offers.  `allocate` may return null at
// any time, and otherwise memory that nothing uses any more.  Any thread may call both, until the
// process ends.
struct MemorySource {
  void* context = nullptr;
  void* (*allocate)(void* context, size_t bytes) = nullptr;  // aligned to kAlignment
  void (*release)(void* context, void* block) = nullptr;
};

// Thread-safe.  Must outlive its blocks.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual MemorySpace space() const = 0;
  // The bytes that the machine, its container or the card has: Allocate refuses more without
  // trying.
  virtual int64_t limit() const = 0;
  // Uninitialized.  The block's data() is null when there is no memory, and for sizes below 0 or
  // above kMostBytes; never null otherwise, also for 0 bytes.
  virtual Block Allocate(int64_t bytes) = 0;
  // Blocks come from there where it has some; the first offer counts.
  virtual void Offer(const MemorySource& source) {}

 protected:
  friend class Block;
  // `source` names the one of the memory's sources that the bytes came from.
  virtual void Free(void* data, int64_t bytes, int source) = 0;
};

// One piece of memory, owned.
class Block {
 public:
  Block() = default;
  Block(Memory* memory, void* data, int64_t bytes, int source = 0)
      : memory_(memory), data_(static_cast<std::byte*>(data)), bytes_(bytes), source_(source) {}
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(source_, other.source_);
    return *this;
  }
  ~Block() {
    if (data_ != nullptr) memory_->Free(data_, bytes_, source_);
  }

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  Memory* memory_ = nullptr;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  int source_ = 0;
};

}  // namespace tektite::backend

#endif  // TEKTITE_JIT_BACKEND_MEMORY_H_
