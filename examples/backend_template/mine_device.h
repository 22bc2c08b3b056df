// A device with memory of its own, and streams that run in order.
//
//   auto device = std::make_shared<MineDevice>();
//   backend::Block block = device->memory().Allocate(64);
//
// Tektite reaches buffers through streams alone: an address of this memory means something to
// Launch and to the copies, and to nothing else.
//
// To replace: MineMemory::Allocate and Free by the device's, the copies of MineStream by its
// copies.
#ifndef MINE_DEVICE_H_
#define MINE_DEVICE_H_

#include <cstdint>

#include "jit/backend/stream.h"

namespace mine {

namespace backend = tektite::backend;

class MineMemory final : public backend::Memory {
 public:
  backend::MemorySpace space() const override { return backend::MemorySpace::kDevice; }
  int64_t limit() const override { return int64_t{1} << 34; }
  backend::Block Allocate(int64_t bytes) override;

 protected:
  void Free(void* data, int64_t bytes, int source) override;
};

class MineDevice final : public backend::Device {
 public:
  backend::Memory& memory() override { return memory_; }
  absl::Status WithStream(const backend::StreamOptions& options,
                          absl::FunctionRef<absl::Status(backend::Stream&)> body) override;

 private:
  MineMemory memory_;
};

}  // namespace mine

#endif  // MINE_DEVICE_H_
