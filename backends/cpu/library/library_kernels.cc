#include "backends/cpu/library/library_kernels.h"

#include <utility>

#include "backends/cpu/library/library_kernel.h"
#include "backends/cpu/library/sized_at_launch.h"
#include "jit/base/status.h"
#include "jit/ir/symbols.h"

namespace tektite::cpu {

using ir::Node;
using ir::Op;

namespace {

using FamilyMaker = absl::StatusOr<KernelPtr> (*)(const Node&, Buffers);

// Null for a family that has code made for it.
FamilyMaker MakerOf(ir::OpFamily family) {
  switch (family) {
    case ir::OpFamily::matrix:
      return &MakeMatrixKernel;
    case ir::OpFamily::order:
      return &MakeOrderKernel;
    case ir::OpFamily::selection:
      return &MakeSelectionKernel;
    case ir::OpFamily::spectrum:
      return &MakeSpectrumKernel;
    default:
      return nullptr;
  }
}

}  // namespace

absl::StatusOr<KernelPtr> MakeLibraryKernel(const Node& fusion) {
  const ir::Graph& region = fusion.region();
  if (fusion.Bool(ir::Attr::deferred)) {
    KernelPtr packing = MakeWeightPanels(fusion);
    if (packing != nullptr) return packing;
  }
  const Node* op = nullptr;
  for (const auto& node : region.nodes()) {
    if (node->op() == Op::kParameter) continue;
    if (op != nullptr) return Unimplemented("no library kernel does several ops");
    op = node.get();
  }
  if (op == nullptr) return Unimplemented("no library kernel for a fusion without ops");
  const FamilyMaker make = MakerOf(ir::GetOpInfo(op->op()).family);
  if (make == nullptr) return Unimplemented("no library kernel for ", op->Describe());
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
  return make(*op, std::move(buffers));
}

}  // namespace tektite::cpu
