#include "jit/ir/part.h"

#include <algorithm>

namespace tektite::ir {
namespace {

// Itself, or seen through further names for the same memory.
bool IsResult(const Node& node) {
  return node.IsOutput() || std::any_of(node.uses().begin(), node.uses().end(), [](const Use& use) {
           return (use.user->op() == Op::kReshape || use.user->op() == Op::kSlice) &&
                  IsResult(*use.user);
         });
}

}  // namespace

std::optional<int64_t> PartOffset(const Node& slice) {
  const Dims &whole = slice.operand_shape(0).dims(), &taken = slice.shape().dims();
  const Dims& starts = slice.attrs().GetDims(Attr::starts);
  const auto& strides = slice.Ints(Attr::strides);
  Dim offset(0), inner(1);  // inner: elements of the dimensions behind
  bool cut = false;         // a dimension behind is not taken whole
  for (size_t d = whole.size(); d-- > 0;) {
    if (cut && taken[d] != Dim(1)) return std::nullopt;
    if (!strides.empty() && strides[d] != 1 && taken[d] != Dim(1)) return std::nullopt;
    cut = cut || taken[d] != whole[d];
    offset = offset + starts[d] * inner;
    inner = inner * whole[d];
  }
  if (!offset.is_constant()) return std::nullopt;
  return offset.value();
}

bool IsPart(const Node& node, int64_t alignment) {
  if (node.op() != Op::kSlice) return false;
  const std::optional<int64_t> offset = PartOffset(node);
  return offset.has_value() && *offset * DTypeBytes(node.shape().dtype()) % alignment == 0 &&
         !IsResult(node);
}

}  // namespace tektite::ir
