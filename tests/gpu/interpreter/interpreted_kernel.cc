#include "tests/gpu/interpreter/interpreted_kernel.h"

#include <algorithm>
#include <utility>

#include "jit/base/status.h"
#include "tests/gpu/interpreter/block_execution.h"

namespace tektite::gpu {

using loop::Code;
using loop::Instr;

namespace {

constexpr int64_t kMostBlocks = int64_t{1} << 31;

}  // namespace

InterpretedKernel::Launch::Launch(std::unique_ptr<loop::Kernel> made)
    : kernel(std::move(made)),
      functions(kernel->body().arena->instrs.size()),
      sizes(kernel->sizes),
      blocks(sizes.Add(kernel->launch.blocks)),
      scratch_bytes(sizes.Add(kernel->scratch_bytes)) {
  for (const loop::TensorMap& map : kernel->tensor_maps) {
    tensors.push_back({sizes.Add(map.sizes[0]), sizes.Add(map.sizes[1]), sizes.Add(map.sizes[2]),
                       sizes.Add(map.strides[0]), sizes.Add(map.strides[1])});
  }
}

std::vector<TensorShape> InterpretedKernel::Launch::Tensors(absl::Span<const int64_t> table) const {
  std::vector<TensorShape> shapes;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const loop::TensorMap& map = kernel->tensor_maps[i];
    const auto at = [&](size_t place) { return table[static_cast<size_t>(tensors[i][place])]; };
    shapes.push_back(
        {map.buffer, {at(0), at(1), at(2)}, {at(3), at(4)}, {map.box[0], map.box[1], map.box[2]}});
  }
  return shapes;
}

std::vector<int64_t> InterpretedKernel::Launch::Table(absl::Span<const int64_t> symbols) const {
  std::vector<int64_t> table(static_cast<size_t>(sizes.table_size()));
  if (!sizes.complete() || !sizes.Run(symbols.data(), table.data())) table.clear();
  return table;
}

absl::StatusOr<std::unique_ptr<InterpretedKernel>> InterpretedKernel::Create(
    std::unique_ptr<loop::Kernel> kernel, LaneFunctions* functions) {
  std::vector<std::unique_ptr<loop::Kernel>> launches;
  launches.push_back(std::move(kernel));
  return Create(std::move(launches), functions);
}

absl::StatusOr<std::unique_ptr<InterpretedKernel>> InterpretedKernel::Create(
    std::vector<std::unique_ptr<loop::Kernel>> launches, LaneFunctions* functions) {
  std::unique_ptr<InterpretedKernel> made(new InterpretedKernel);
  for (std::unique_ptr<loop::Kernel>& kernel : launches) {
    TEKTITE_RETURN_IF_ERROR(loop::Verify(*kernel));
    if (!kernel->is_for_device()) {
      return Internal("kernel ", kernel->name(), " is for the host, which has no threads");
    }
    made->launches_.emplace_back(std::move(kernel));
    Launch& launch = made->launches_.back();
    TEKTITE_RETURN_IF_ERROR(made->Prepare(launch.kernel->body(), functions, &launch));
  }
  return made;
}

absl::Status InterpretedKernel::Prepare(const loop::Block& block, LaneFunctions* functions,
                                        Launch* launch) {
  for (const Instr* instr : block.instrs) {
    if (IsElementwise(*instr) || instr->code == Code::kReduceLanes) {
      TEKTITE_ASSIGN_OR_RETURN(launch->functions[instr->number], functions->For(*instr));
    }
    if (instr->code == Code::kLoad || instr->code == Code::kStore || instr->code == Code::kGather ||
        instr->code == Code::kScatter || instr->code == Code::kCopyAsync ||
        instr->code == Code::kCopyTensor || instr->code == Code::kLoadMatrices) {
      granule_ = std::min(granule_, ir::DTypeBytes(instr->access));
    }
    for (const loop::Block* inner : {instr->body, instr->otherwise}) {
      if (inner != nullptr) TEKTITE_RETURN_IF_ERROR(Prepare(*inner, functions, launch));
    }
  }
  return absl::OkStatus();
}

bool InterpretedKernel::Fits(absl::Span<const int64_t> symbols) const {
  return std::all_of(launches_.begin(), launches_.end(), [&](const Launch& launch) {
    const std::vector<int64_t> table = launch.Table(symbols);
    return !table.empty() && table[static_cast<size_t>(launch.blocks)] < kMostBlocks;
  });
}

absl::Status InterpretedKernel::Run(absl::Span<const DeviceBuffer> buffers,
                                    absl::Span<const int64_t> symbols) const {
  const Launch& first = launches_[0];
  if (buffers.size() != first.kernel->buffers().size() ||
      static_cast<int>(symbols.size()) != first.sizes.num_symbols()) {
    return InvalidArgument("kernel ", name(), ": ", buffers.size(), " buffers and ", symbols.size(),
                           " sizes, expected ", first.kernel->buffers().size(), " and ",
                           first.sizes.num_symbols());
  }
  std::vector<std::vector<int64_t>> tables;
  int64_t scratch_bytes = 0;
  for (const Launch& launch : launches_) {
    tables.push_back(launch.Table(symbols));
    if (tables.back().empty()) {
      return InvalidArgument("kernel ", name(), ": a size does not fit 64 bits");
    }
    scratch_bytes =
        std::max(scratch_bytes, tables.back()[static_cast<size_t>(launch.scratch_bytes)]);
  }
  CheckedMemory memory(granule_);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const loop::BufferInfo& info = first.kernel->buffers()[i];
    memory.AddBuffer(info.name, buffers[i].data, buffers[i].bytes, info.written);
  }
  const int scratch = memory.AddScratch(scratch_bytes);
  for (size_t i = 0; i < launches_.size(); ++i) {
    const int64_t blocks = tables[i][static_cast<size_t>(launches_[i].blocks)];
    BlockExecution execution(*launches_[i].kernel, launches_[i].functions, tables[i],
                             launches_[i].Tensors(tables[i]), blocks, scratch, &memory);
    memory.BeginLaunch();
    for (int64_t block = 0; block < blocks; ++block) {
      TEKTITE_RETURN_IF_ERROR(execution.Run(block));
    }
  }
  return absl::OkStatus();
}

}  // namespace tektite::gpu
