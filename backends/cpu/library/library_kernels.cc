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

// The region's only op; null for any other region.
const Node* OnlyOp(const ir::Graph& region) {
  const Node* op = nullptr;
  for (const auto& node : region.nodes()) {
    if (node->op() == Op::kParameter) continue;
    if (op != nullptr) return nullptr;
    op = node.get();
  }
  return op;
}

}  // namespace

absl::Status CheckWeightPanels(const Node& fusion) {
  if (fusion.Bool(ir::Attr::deferred)) return absl::OkStatus();
  return Unimplemented("not weights that are packed later");
}

absl::Status CheckLibraryKernel(const Node& fusion) {
  const Node* op = OnlyOp(fusion.region());
  if (op == nullptr) return Unimplemented("a library kernel does one op");
  if (MakerOf(ir::GetOpInfo(op->op()).family) != nullptr) return absl::OkStatus();
  return Unimplemented("no library kernel for ", op->Describe());
}

absl::StatusOr<KernelPtr> MakeLibraryKernel(const Node& fusion) {
  TEKTITE_RETURN_IF_ERROR(CheckLibraryKernel(fusion));
  const ir::Graph& region = fusion.region();
  const Node* op = OnlyOp(region);
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
  return MakerOf(ir::GetOpInfo(op->op()).family)(*op, std::move(buffers));
}

}  // namespace tektite::cpu
