#include "backends/cpu/library/library_kernels.h"

#include <utility>

#include "backends/cpu/library/library_kernel.h"
#include "backends/cpu/library/sized_at_launch.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"

namespace tektite::cpu {

using ir::Node;
using ir::Op;

absl::StatusOr<KernelPtr> MakeLibraryKernel(const Node& fusion) {
  const ir::Graph& region = fusion.region();
  const Node* op = nullptr;
  for (const auto& node : region.nodes()) {
    if (node->op() == Op::kParameter) continue;
    if (op != nullptr) return Unimplemented("no library kernel does several ops");
    op = node.get();
  }
  if (op == nullptr) return Unimplemented("no library kernel for a fusion without ops");
  const ir::OpFamily family = ir::GetOpInfo(op->op()).family;
  const bool selects = family == ir::OpFamily::selection, orders = family == ir::OpFamily::order;
  if (!selects && !orders) return Unimplemented("no library kernel for ", op->Describe());
  if (ir::HasSymbols(region)) return SizedAtLaunch(fusion, &MakeLibraryKernel);
  Buffers buffers;
  for (ir::Value v : op->operands()) {
    for (int i = 0; i < region.num_parameters(); ++i) {
      if (region.parameter(i) == v.node) buffers.operands.push_back(i);
    }
  }
  buffers.results.assign(op->num_results(), -1);
  for (size_t i = 0; i < region.outputs().size(); ++i) {
    const ir::Value output = region.outputs()[i];
    if (output.node != op || buffers.results[output.index] >= 0) {
      return Unimplemented("no library kernel for a copy of a result of ", op->Describe());
    }
    buffers.results[output.index] = region.num_parameters() + static_cast<int>(i);
  }
  if (selects) return MakeSelectionKernel(*op, std::move(buffers));
  return MakeOrderKernel(*op, std::move(buffers));
}

}  // namespace tektite::cpu
