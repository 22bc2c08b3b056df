#include "jit/runtime/host_side_kernel.h"

#include <utility>

#include "absl/container/fixed_array.h"
#include "absl/strings/str_cat.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"
#include "jit/runtime/host_device.h"

namespace tektite::runtime {

HostSideKernel::HostSideKernel(std::shared_ptr<const backend::Kernel> kernel,
                               const ir::Graph& region)
    : kernel_(std::move(kernel)),
      program_(ir::SymbolsOf(region)),
      num_operands_(region.parameters().size()) {
  const auto add = [&](const ir::Shape& shape) {
    bytes_.push_back(program_.Add(shape.NumElements() * ir::Dim(ir::DTypeBytes(shape.dtype()))));
  };
  for (const ir::Node* parameter : region.parameters()) add(parameter->shape());
  for (const ir::Value& result : region.outputs()) add(result.shape());
}

backend::LaunchConfig HostSideKernel::Configure(absl::Span<const int64_t> sizes) const {
  backend::LaunchConfig config = kernel_->Configure(sizes);
  absl::FixedArray<int64_t> table(static_cast<size_t>(program_.table_size()));
  config.fits = config.fits && program_.complete() && program_.Run(sizes.data(), table.data());
  config.num_chunks = 1;
  config.scratch_bytes = 0;
  return config;
}

absl::Status HostSideKernel::Run(absl::Span<void* const> buffers, absl::Span<const int64_t> sizes,
                                 const backend::HostPool& pool, backend::Stream& stream) const {
  absl::FixedArray<int64_t> table(static_cast<size_t>(program_.table_size()));
  // Plan has found that the sizes fit.
  static_cast<void>(program_.Run(sizes.data(), table.data()));
  const backend::LaunchConfig config = kernel_->Configure(sizes);
  absl::FixedArray<int64_t> offsets(buffers.size());
  int64_t end = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    offsets[i] = end;
    for (size_t o = 0; o < num_operands_ && i >= num_operands_; ++o) {
      if (buffers[o] == buffers[i]) offsets[i] = offsets[o];
    }
    if (offsets[i] == end) end += backend::AlignUp(table[bytes_[i]]);
  }
  HostDevice host;
  const backend::Block block = host.memory().Allocate(end + config.scratch_bytes);
  if (block.data() == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory of the host for ", end, " bytes of a step that runs there"));
  }
  absl::FixedArray<void*> copies(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    copies[i] = block.data() + offsets[i];
    if (i < num_operands_) stream.CopyToHost(copies[i], buffers[i], table[bytes_[i]]);
  }
  TEKTITE_RETURN_IF_ERROR(stream.Synchronize());
  backend::StreamOptions options;
  options.pool = pool;
  options.cost_ns = config.cost_ns;
  options.scratch_bytes = config.scratch_bytes;
  options.scratch = block.data() + end;
  TEKTITE_RETURN_IF_ERROR(host.WithStream(options, [&](backend::Stream& there) {
    there.Launch(*kernel_, config, copies, sizes);
    return there.Synchronize();
  }));
  for (size_t i = num_operands_; i < buffers.size(); ++i) {
    stream.CopyFromHost(buffers[i], copies[i], table[bytes_[i]]);
  }
  return stream.Synchronize();
}

}  // namespace tektite::runtime
