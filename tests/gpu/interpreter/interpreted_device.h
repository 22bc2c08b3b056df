// A device that is interpreted: its memory and its streams.
//
// The addresses that the memory hands out are not the host's: reading or writing through one
// crashes.  A stream runs its launches and copies in order on a thread of its own.  A launch with a
// fault (interpreted_kernel.h) is an error of its stream.
#ifndef TEKTITE_TESTS_GPU_INTERPRETER_INTERPRETED_DEVICE_H_
#define TEKTITE_TESTS_GPU_INTERPRETER_INTERPRETED_DEVICE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backends/gpu/emit/emitter.h"
#include "jit/backend/kernel.h"
#include "jit/backend/stream.h"
#include "jit/ir/dim_program.h"
#include "tests/gpu/interpreter/interpreted_kernel.h"

namespace tektite::gpu {

// A kernel that an interpreted device's streams launch.
class LaunchableKernel final : public backend::Kernel {
 public:
  LaunchableKernel(const ir::Graph& region, std::unique_ptr<const InterpretedKernel> kernel,
                   std::vector<std::pair<int, int>> in_place);
  backend::LaunchConfig Configure(absl::Span<const int64_t> sizes) const override;
  bool CanRunInPlace(int operand, int result) const override;
  // `buffers` are addresses of the host's.
  absl::Status Run(absl::Span<void* const> buffers, absl::Span<const int64_t> sizes) const;

 private:
  const std::unique_ptr<const InterpretedKernel> kernel_;
  const std::vector<std::pair<int, int>> in_place_;
  ir::DimProgram launch_;   // what a launch needs, at these places of its table:
  std::vector<int> bytes_;  // of each buffer
  int work_ = 0;
};

class InterpretedMemory final : public backend::Memory {
 public:
  backend::MemorySpace space() const override { return backend::MemorySpace::kDevice; }
  int64_t limit() const override;
  backend::Block Allocate(int64_t bytes) override;
  // Where the bytes are; addresses of the host's are returned as they are.
  static void* Reach(const void* data);
  static bool Holds(const void* data);

 protected:
  void Free(void* data, int64_t bytes, int source) override;
};

class InterpretedDevice final : public backend::Device {
 public:
  backend::Memory& memory() override { return memory_; }
  absl::Status WithStream(const backend::StreamOptions& options,
                          absl::FunctionRef<absl::Status(backend::Stream&)> body) override;

 private:
  InterpretedMemory memory_;
};

}  // namespace tektite::gpu

#endif  // TEKTITE_TESTS_GPU_INTERPRETER_INTERPRETED_DEVICE_H_
