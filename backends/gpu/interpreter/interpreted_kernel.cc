#include "backends/gpu/interpreter/interpreted_kernel.h"

#include <algorithm>
#include <utility>

#include "backends/gpu/interpreter/block_execution.h"
#include "jit/base/status.h"

namespace tektite::gpu {

using loop::Code;
using loop::Instr;

InterpretedKernel::InterpretedKernel(std::unique_ptr<loop::Kernel> kernel)
    : kernel_(std::move(kernel)),
      functions_(kernel_->body().arena->instrs.size()),
      sizes_(kernel_->sizes) {
  blocks_ = sizes_.Add(kernel_->launch.blocks);
  scratch_bytes_ = sizes_.Add(kernel_->scratch_bytes);
}

absl::StatusOr<std::unique_ptr<InterpretedKernel>> InterpretedKernel::Create(
    std::unique_ptr<loop::Kernel> kernel, LaneFunctions* functions) {
  TEKTITE_RETURN_IF_ERROR(loop::Verify(*kernel));
  if (!kernel->is_for_device()) {
    return Internal("kernel ", kernel->name(), " is for the host, which has no threads");
  }
  std::unique_ptr<InterpretedKernel> made(new InterpretedKernel(std::move(kernel)));
  TEKTITE_RETURN_IF_ERROR(made->Prepare(made->kernel_->body(), functions));
  return made;
}

absl::Status InterpretedKernel::Prepare(const loop::Block& block, LaneFunctions* functions) {
  for (const Instr* instr : block.instrs) {
    if (IsElementwise(*instr) || instr->code == Code::kReduceLanes) {
      TEKTITE_ASSIGN_OR_RETURN(functions_[instr->number], functions->For(*instr));
    }
    if (instr->code == Code::kLoad || instr->code == Code::kStore || instr->code == Code::kGather ||
        instr->code == Code::kScatter || instr->code == Code::kCopyAsync ||
        instr->code == Code::kLoadMatrices) {
      granule_ = std::min(granule_, ir::DTypeBytes(instr->access));
    }
    for (const loop::Block* inner : {instr->body, instr->otherwise}) {
      if (inner != nullptr) TEKTITE_RETURN_IF_ERROR(Prepare(*inner, functions));
    }
  }
  return absl::OkStatus();
}

bool InterpretedKernel::Fits(absl::Span<const int64_t> symbols) const {
  std::vector<int64_t> table(static_cast<size_t>(sizes_.table_size()));
  return sizes_.complete() && sizes_.Run(symbols.data(), table.data());
}

absl::Status InterpretedKernel::Run(absl::Span<const DeviceBuffer> buffers,
                                    absl::Span<const int64_t> symbols) const {
  if (buffers.size() != kernel_->buffers().size() ||
      static_cast<int>(symbols.size()) != sizes_.num_symbols()) {
    return InvalidArgument("kernel ", kernel_->name(), ": ", buffers.size(), " buffers and ",
                           symbols.size(), " sizes, wants ", kernel_->buffers().size(), " and ",
                           sizes_.num_symbols());
  }
  std::vector<int64_t> table(static_cast<size_t>(sizes_.table_size()));
  if (!sizes_.complete() || !sizes_.Run(symbols.data(), table.data())) {
    return InvalidArgument("kernel ", kernel_->name(), ": a size does not fit 64 bits");
  }
  CheckedMemory memory(granule_);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const loop::BufferInfo& info = kernel_->buffers()[i];
    memory.AddBuffer(info.name, buffers[i].data, buffers[i].bytes, info.written);
  }
  BlockExecution execution(*kernel_, functions_, table, table[scratch_bytes_], table[blocks_],
                           &memory);
  for (int64_t block = 0; block < table[blocks_]; ++block) {
    TEKTITE_RETURN_IF_ERROR(execution.Run(block));
  }
  return absl::OkStatus();
}

}  // namespace tektite::gpu
