// Runs kernels for a device on the host, for tests and for machines without a card, and reports
// what would go wrong on a card, where it may go unseen.
//
//   LaneFunctions functions(compile);
//   TEKTITE_ASSIGN_OR_RETURN(auto kernel,
//                            InterpretedKernel::Create(std::move(loop_kernel), &functions));
//   TEKTITE_RETURN_IF_ERROR(kernel->Run({{x, 4096}, {y, 4096}}, sizes));
//
// The threads of a block run side by side: an instruction runs in all of them before the next one
// does.  Blocks run one after the other.  A launch that does any of these fails, with an
// InvalidArgument that names the instruction, the thread and the block:
//   - a data race, an access out of bounds or misaligned, a read of shared memory or scratch that
//     nothing was written to, a write to a buffer that is read only (checked_memory.h);
//   - a barrier that not all threads of the block reach;
//   - an exchange or vote that not all threads of a warp reach, or with a thread that is not there;
//   - of sm_90a: sums that are read before their product was waited for, shared memory that a copy
//     overwrites while a product may read it, a signal that never comes (asynchronous.h).
//
// A kernel may be several launches, one after the other, which share buffers and scratch: what one
// has written the next may read.
//
// Limits: a fault ends the launch, which then has written part of its results.
#ifndef TEKTITE_TESTS_GPU_INTERPRETER_INTERPRETED_KERNEL_H_
#define TEKTITE_TESTS_GPU_INTERPRETER_INTERPRETED_KERNEL_H_

#include <array>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/llvm/loop_ir.h"
#include "tests/gpu/interpreter/lane_functions.h"

namespace tektite::gpu {

struct TensorShape;

struct DeviceBuffer {
  void* data = nullptr;
  int64_t bytes = 0;
};

class InterpretedKernel {
 public:
  // Verifies the kernel and compiles what its instructions compute.
  static absl::StatusOr<std::unique_ptr<InterpretedKernel>> Create(
      std::unique_ptr<loop::Kernel> kernel, LaneFunctions* functions);
  // Of at least one launch.
  static absl::StatusOr<std::unique_ptr<InterpretedKernel>> Create(
      std::vector<std::unique_ptr<loop::Kernel>> launches, LaneFunctions* functions);

  // `buffers` as the kernel has them; `symbols`: values for those of its sizes.  Thread-safe.
  absl::Status Run(absl::Span<const DeviceBuffer> buffers, absl::Span<const int64_t> symbols) const;

  // Whether the kernel can count in these sizes, and a device in its blocks.
  bool Fits(absl::Span<const int64_t> symbols) const;
  const std::string& name() const { return launches_[0].kernel->name(); }

 private:
  struct Launch {
    std::unique_ptr<const loop::Kernel> kernel;
    std::vector<HostFunction> functions;  // by the instruction's number; null: it needs none
    ir::DimProgram sizes;                 // the kernel's, then the two below
    int blocks = 0, scratch_bytes = 0;    // places in its table
    // Of a tensor map, too: sizes, then strides.
    std::vector<std::array<int, 5>> tensors;

    explicit Launch(std::unique_ptr<loop::Kernel> made);
    std::vector<TensorShape> Tensors(absl::Span<const int64_t> table) const;
    // Empty if a size does not fit.
    std::vector<int64_t> Table(absl::Span<const int64_t> symbols) const;
  };
  InterpretedKernel() = default;
  absl::Status Prepare(const loop::Block& block, LaneFunctions* functions, Launch* launch);

  std::vector<Launch> launches_;
  int granule_ = 8;  // the least bytes of an access
};

}  // namespace tektite::gpu

#endif  // TEKTITE_TESTS_GPU_INTERPRETER_INTERPRETED_KERNEL_H_
