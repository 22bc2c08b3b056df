#include "backends/gpu/row_bias.h"

#include <vector>

namespace tektite::gpu {

using ir::Attr;
using ir::DType;
using ir::Node;
using ir::Op;

namespace {

// `node` is `y`, or `y` with its rows counted in one dimension.
bool IsResult(const Node& node, const Node& y) {
  if (&node == &y) return true;
  return node.op() == Op::kReshape && node.operand(0).node == &y && node.shape().rank() > 0 &&
         node.shape().sizes().back() == y.shape().sizes().back();
}

}  // namespace

const Node* RowBias(const Node& node, const Node& y) {
  if (node.op() != Op::kAdd || y.shape().dtype() != DType::kF32) return nullptr;
  for (int side = 0; side < 2; ++side) {
    const Node* const spread = node.operand(1 - side).node;
    if (!IsResult(*node.operand(side).node, y) || spread->op() != Op::kBroadcastInDim) continue;
    const Node* const bias = spread->operand(0).node;
    if (bias->op() == Op::kParameter && bias->shape().rank() == 1 &&
        bias->shape().dtype() == DType::kF32 &&
        spread->Ints(Attr::dimensions) == std::vector<int64_t>{node.shape().rank() - 1} &&
        bias->shape().sizes()[0] == y.shape().sizes().back()) {
      return bias;
    }
  }
  return nullptr;
}

}  // namespace tektite::gpu
