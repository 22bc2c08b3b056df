// A kernel of the host in a graph that runs on another device, which has none for the op.
//
//   auto kernel = std::make_shared<HostSideKernel>(host_kernel, fusion.region());
//   status = kernel->Run(buffers, sizes, pool, stream);    // what Launch does in a launch's place
//
// Why: a cluster with one op that the device lacks would else be left to the host as a whole.  Its
// operands are copied to the host, its results back, and both are waited for: such a step costs the
// bytes it reads and writes over the bus, and tens of microseconds.  No reason to send a cluster to
// a card, and no reason against it.
//
// An operand and a result that share a buffer on the device share one on the host, too.
#ifndef TEKTITE_JIT_RUNTIME_HOST_SIDE_KERNEL_H_
#define TEKTITE_JIT_RUNTIME_HOST_SIDE_KERNEL_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jit/backend/kernel.h"
#include "jit/backend/stream.h"
#include "jit/ir/dim_program.h"
#include "jit/ir/graph.h"

namespace tektite::runtime {

class HostSideKernel final : public backend::Kernel {
 public:
  // `kernel` is a backend::HostKernel for a fusion with this region.
  HostSideKernel(std::shared_ptr<const backend::Kernel> kernel, const ir::Graph& region);

  // Of the device: without scratch.
  backend::LaunchConfig Configure(absl::Span<const int64_t> sizes) const override;
  bool is_host_side() const override { return true; }

  // `buffers` are the device's.  Everything has been done when it returns.
  absl::Status Run(absl::Span<void* const> buffers, absl::Span<const int64_t> sizes,
                   const backend::HostPool& pool, backend::Stream& stream) const;

 private:
  const std::shared_ptr<const backend::Kernel> kernel_;
  ir::DimProgram program_;
  std::vector<int> bytes_;  // places in its table: of the operands, then of the results
  size_t num_operands_ = 0;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_HOST_SIDE_KERNEL_H_
