#include "jit/llvm/emit/region_kernel.h"

#include "absl/strings/str_cat.h"
#include "jit/base/status.h"
#include "jit/ir/in_place.h"
#include "jit/ir/symbols.h"

namespace tektite::loop {
namespace {

using ir::Dims;
using ir::Node;
using ir::Op;

bool IsDirect(const ir::Graph& region, const Node* parameter, const Dims& sizes) {
  if (parameter->shape().dims() != sizes) return false;
  for (const ir::Use& use : parameter->uses()) {
    if (!ir::IsElementwise(use.user->op())) return false;
  }
  for (const auto& node : region.nodes()) {
    if (node->op() != Op::kParameter && node->op() != Op::kConstant &&
        node->op() != Op::kBroadcastInDim && node->op() != Op::kIota &&
        !ir::IsElementwise(node->op())) {
      return false;
    }
    // A broadcast may read an elementwise result at another index.
    if (node->op() == Op::kBroadcastInDim && node->operand(0).node->op() != Op::kParameter &&
        node->operand(0).node->op() != Op::kConstant) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::unique_ptr<Kernel> MakeKernel(const Node& fusion, const std::string& name,
                                   const std::vector<std::pair<int, int>>& in_place) {
  const ir::Graph& region = fusion.region();
  std::vector<BufferInfo> buffers;
  for (const Node* p : region.parameters()) {
    buffers.push_back({p->shape().dtype(), absl::StrCat("p", buffers.size()), false, false});
  }
  for (ir::Value v : region.outputs()) {
    buffers.push_back(
        {v.dtype(), absl::StrCat("o", buffers.size() - region.num_parameters()), true, false});
  }
  for (auto [operand, result] : in_place) {
    buffers[operand].may_alias = true;
    buffers[region.num_parameters() + result].may_alias = true;
  }
  // Panels that may be the weights once more.
  if (fusion.attrs().Has(ir::Attr::rhs_panels)) {
    buffers[region.num_parameters() - 1].may_alias = true;
  }
  return std::make_unique<Kernel>(name, std::move(buffers), ir::SymbolsOf(region));
}

void BindParameters(ElementEmitter& e, const ir::Graph& region) {
  for (int i = 0; i < region.num_parameters(); ++i) {
    e.BindBuffer(region.parameter(i)->result(), e.builder().Buffer(i));
  }
}

std::vector<std::pair<int, int>> InPlacePairs(const ir::Node& fusion, const ir::Writes& writes) {
  std::vector<std::pair<int, int>> pairs;
  const ir::Graph& region = fusion.region();
  const Dims& sizes = region.outputs()[0].shape().dims();
  if (writes.moves) {
    for (const ir::Write& write : writes.list) {
      if (write.update != nullptr) {
        pairs.push_back({ir::UpdatedOperand(fusion, write.result), write.result});
      }
    }
    return pairs;
  }
  for (const ir::Value output : region.outputs()) {
    if (output.shape().dims() != sizes) return pairs;
  }
  for (int i = 0; i < region.num_parameters(); ++i) {
    const Node* p = region.parameter(i);
    if (!IsDirect(region, p, sizes)) continue;
    for (size_t o = 0; o < region.outputs().size(); ++o) {
      if (ir::DTypeBytes(region.outputs()[o].dtype()) == ir::DTypeBytes(p->shape().dtype())) {
        pairs.push_back({i, static_cast<int>(o)});
      }
    }
  }
  return pairs;
}

Indices WithOnes(const ir::Shape& shape, const Indices& at, const LaneIndex& zero) {
  Indices index(shape.dims().size(), zero);
  size_t next = 0;
  for (size_t d = 0; d < index.size() && next < at.size(); ++d) {
    if (shape.dims()[d] != ir::Dim(1)) index[d] = at[next++];
  }
  return index;
}

Indices WrittenAt(ElementEmitter& e, const ir::Write& write, const Indices& at) {
  if (write.update != nullptr) return e.UpdatedAt(*write.update, at);
  Indices to = at;
  if (write.shift != ir::Dim(0)) {
    LaneIndex& moved = to[static_cast<size_t>(write.dimension)];
    moved.base = e.builder().Add(moved.base, e.builder().Index(write.shift));
  }
  return to;
}

absl::Status CheckBroadcasts(const ir::Graph& region) {
  for (const auto& node : region.nodes()) {
    for (int r = 0; r < node->num_regions(); ++r) {
      TEKTITE_RETURN_IF_ERROR(CheckBroadcasts(node->region(r)));
    }
    if (node->op() != Op::kBroadcastInDim) continue;
    const ir::Shape& x = node->operand_shape(0);
    const std::vector<int64_t>& dimensions = node->Ints(ir::Attr::dimensions);
    for (int i = 0; i < x.rank(); ++i) {
      if (x.dim(i) == ir::Dim(1) || x.dim(i) == node->shape().dim(static_cast<int>(dimensions[i])))
        continue;
      return Unimplemented(node->Describe(), ": dimension ", i, " may be stretched or not");
    }
  }
  return absl::OkStatus();
}

}  // namespace tektite::loop
