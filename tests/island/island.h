// A device whose memory the host cannot reach: the proof that nothing but streams touches buffers.
//
//   auto device = std::make_shared<IslandDevice>();
//   backend::Block block = device->memory().Allocate(64);
//   *block.data() = std::byte{1};                       // SIGSEGV
//
// Reading or writing through an address of the island's memory crashes the process
// (closed_memory.h); kernels and copies use addresses that nothing else knows.  A stream runs its
// launches and copies on a thread of its own, after a pause now and then, and reads buffers and
// sizes only then: a caller that does not wait, or releases them too early, computes garbage.
// Copies check that each side lies in the memory it should.
//
// IslandBackend compiles for it: kernels of the reference interpreter.
#ifndef TEKTITE_TESTS_ISLAND_ISLAND_H_
#define TEKTITE_TESTS_ISLAND_ISLAND_H_

#include <cstdint>
#include <memory>

#include "jit/backend/backend.h"
#include "tests/island/closed_memory.h"

namespace tektite::testing {

class IslandMemory final : public backend::Memory {
 public:
  IslandMemory();
  ~IslandMemory() override;
  backend::MemorySpace space() const override { return backend::MemorySpace::kDevice; }
  int64_t limit() const override;
  backend::Block Allocate(int64_t bytes) override;

  // Whether all of [data, data + bytes) is the island's.
  bool Holds(const void* data, int64_t bytes) const;
  // Where the island itself reaches an address that Allocate returned; other addresses are returned
  // as they are, for kernels' operands of no elements.
  void* Reach(const void* data) const;
  int64_t held_bytes() const;

 protected:
  void Free(void* data, int64_t bytes, int source) override;

 private:
  ClosedMemory memory_;
};

class IslandDevice final : public backend::Device {
 public:
  backend::Memory& memory() override { return memory_; }
  IslandMemory& island_memory() { return memory_; }
  absl::Status WithStream(const backend::StreamOptions& options,
                          absl::FunctionRef<absl::Status(backend::Stream&)> body) override;

 private:
  IslandMemory memory_;
};

// Wraps a kernel of the host's, which the island runs on all its chunks.
class IslandKernel final : public backend::Kernel {
 public:
  explicit IslandKernel(std::shared_ptr<const backend::HostKernel> kernel)
      : kernel_(std::move(kernel)) {}
  backend::LaunchConfig Configure(absl::Span<const int64_t> sizes) const override {
    return kernel_->Configure(sizes);
  }
  bool CanRunInPlace(int operand, int result) const override {
    return kernel_->CanRunInPlace(operand, result);
  }
  const backend::HostKernel& kernel() const { return *kernel_; }

 private:
  const std::shared_ptr<const backend::HostKernel> kernel_;
};

class IslandBackend final : public backend::Backend {
 public:
  IslandBackend();
  absl::string_view name() const override { return "island"; }
  const target::TargetInfo& target() const override { return reference_->target(); }
  std::shared_ptr<backend::Device> device() const override { return device_; }
  absl::StatusOr<std::shared_ptr<const backend::Kernel>> Compile(
      const ir::Node& fusion, const backend::CompileOptions& options) override;

 private:
  const std::unique_ptr<backend::Backend> reference_;
  const std::shared_ptr<IslandDevice> device_ = std::make_shared<IslandDevice>();
};

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_ISLAND_ISLAND_H_
