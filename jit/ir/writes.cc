#include "jit/ir/writes.h"

#include <algorithm>
#include <iterator>

#include "jit/ir/in_place.h"

namespace tektite::ir {
Dims WithoutOnes(const Dims& dims) {
  Dims kept;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(kept),
               [](const Dim& d) { return d != Dim(1); });
  return kept;
}

bool JoinsEqualParts(const Node& node) {
  if (node.op() != Op::kConcatenate || node.num_operands() < 2) return false;
  if (node.Int(Attr::dimension) != node.shape().rank() - 1) return false;
  const auto parts = node.operands();
  return std::all_of(parts.begin(), parts.end(),
                     [&](Value part) { return part.shape() == node.operand_shape(0); });
}

Writes WritesOf(const Node& fusion) {
  Writes writes;
  const Graph& region = fusion.region();
  const int results = static_cast<int>(region.outputs().size());
  for (int r = 0; r < results; ++r) {
    const Value output = region.outputs()[r];
    const Node& node = *output.node;
    if (UpdatedOperand(fusion, r) >= 0) {
      writes.list.push_back({node.operand(1), r, &node, 0, 0});
      writes.moves = true;
    } else if (results > 1 && node.uses().empty() && JoinsEqualParts(node)) {
      Dim shift;
      for (const Value part : node.operands()) {
        writes.list.push_back({part, r, nullptr, node.Int(Attr::dimension), shift});
        shift = shift + part.shape().dims().back();
      }
      writes.moves = true;
    } else {
      writes.list.push_back({output, r, nullptr, 0, 0});
    }
  }
  if (writes.list.empty()) return writes;
  writes.space = WithoutOnes(writes.list[0].value.shape().dims());
  for (const Write& write : writes.list) {
    if (WithoutOnes(write.value.shape().dims()) != writes.space) return {};
  }
  return writes;
}

}  // namespace tektite::ir
