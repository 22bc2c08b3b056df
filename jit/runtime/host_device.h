// The host as a device: its memory, and streams that share a kernel's chunks out among a team of
// the caller's threads.
//
//   auto host = std::make_shared<HostDevice>(allocator);
//   host->WithStream({pool, cost_ns, scratch_bytes, scratch}, [&](backend::Stream& stream) {
//     stream.Launch(kernel, plan, buffers, sizes);
//     return stream.Synchronize();
//   });
//
// A launch has run when Launch returns, and so has a copy: events are empty, and Synchronize only
// says whether the work was cancelled.  Every kernel must be a backend::HostKernel.
#ifndef TEKTITE_JIT_RUNTIME_HOST_DEVICE_H_
#define TEKTITE_JIT_RUNTIME_HOST_DEVICE_H_

#include <memory>

#include "jit/backend/stream.h"
#include "jit/runtime/memory/host_memory.h"

namespace tektite::runtime {

class HostDevice final : public backend::Device {
 public:
  explicit HostDevice(const HostAllocator& allocator = {}) : memory_(allocator) {}
  backend::Memory& memory() override { return memory_; }
  absl::Status WithStream(const backend::StreamOptions& options,
                          absl::FunctionRef<absl::Status(backend::Stream&)> body) override;

  // StreamOptions::is_cancelled is asked whenever so much work is estimated to have been done.
  // Streams of less work do not ask at all.
  static constexpr double kAskNs = 1e6;

 private:
  HostMemory memory_;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_HOST_DEVICE_H_
