// A compiled kernel: how it runs on given sizes, and, for kernels of the host, how to run it.
//
// A kernel is launched on a stream of the device that it was compiled for (stream.h).  The runtime
// plans with Kernel alone; only a device's own streams know more of it.  Kernels of the host's
// device are HostKernels, whose work is cut into chunks numbered from 0.  Chunks are independent,
// may run in any order and on any thread, and are fixed by the sizes alone, so that results never
// depend on the number of threads.
//
//   const LaunchConfig config = kernel.Configure(sizes);      // chunks, scratch, cost
//   if (config.fits) stream.Launch(kernel, config, pointers, sizes);
#ifndef TEKTITE_JIT_BACKEND_KERNEL_H_
#define TEKTITE_JIT_BACKEND_KERNEL_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace tektite::backend {

// How a kernel runs on given sizes.
struct LaunchConfig {
  int64_t num_chunks = 1;     // of a HostKernel
  int64_t scratch_bytes = 0;  // of a HostKernel, for each worker; else for a launch
  double cost_ns = 0;         // estimated for one core, for the decision to stay serial
  bool fits = true;           // false: the kernel cannot count in these sizes, and must not run
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // `sizes`: values of the region's symbols, as ir::SymbolsOf orders them; a kernel of static
  // shapes returns the same always.  Depends on the sizes alone; takes well under a microsecond.
  // Sizes may be anything: Plan checks the values that the kernel computes from them (offsets,
  // chunks, scratch), once, and a launch relies on that.  A launch computes all else that depends
  // on the sizes again, so that a frame holds the sizes and nothing behind them.
  virtual LaunchConfig Configure(absl::Span<const int64_t> sizes) const = 0;
  // Result `result` may share operand `operand`'s buffer: every element is read before it is
  // written, by the chunk or thread that writes it.
  virtual bool CanRunInPlace(int operand, int result) const { return false; }
  // Whether the host runs it for a device that has no such kernel, and no stream launches it
  // (jit/runtime/host_side_kernel.h).
  virtual bool is_host_side() const { return false; }
  // The bytes that Backend::Load makes this kernel from; empty where the back end keeps no images,
  // and for a kernel without code of its own.
  virtual std::string Image() const { return ""; }
};

// The arguments of one kernel call on the host.
struct KernelFrame {
  void* const* buffers;  // the fusion's operands in order, then its results; row-major
  const int64_t* sizes;  // as in Kernel::Plan; null: none
  void* scratch;         // LaunchConfig::scratch_bytes of this worker's own, 64-byte aligned
};

class HostKernel : public Kernel {
 public:
  // Runs chunks [begin, end) of Plan(sizes).num_chunks.  May throw std::bad_alloc, and nothing
  // else; the call then fails with ResourceExhausted.
  virtual void Run(const KernelFrame& frame, int64_t begin, int64_t end) const = 0;
};

}  // namespace tektite::backend

#endif  // TEKTITE_JIT_BACKEND_KERNEL_H_
