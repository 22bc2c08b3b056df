#include "backends/cpu/emit/emitter.h"

#include <algorithm>

#include "backends/cpu/emit/names.h"
#include "jit/llvm/math/math.h"

namespace tektite::cpu {
namespace {

// Of a parameter: all of it, or the part that is gathered or cut out of it.
Dim ElementsRead(const Node& parameter) {
  Dim read(0);
  for (const ir::Use& use : parameter.uses()) {
    const Op op = use.user->op();
    const bool in_part =
        use.operand == 0 && (op == Op::kGather || op == Op::kSlice || op == Op::kDynamicSlice);
    if (!in_part) return parameter.shape().NumElements();
    read = read + use.user->shape().NumElements();
  }
  return Min(read, parameter.shape().NumElements());
}

}  // namespace

int RegionLanes(const ir::Graph& region, const Target& target) {
  int widest = 4;
  for (const auto& node : region.nodes()) {
    if (node->shape().rank() > 0) {
      widest = std::max(widest, ir::DTypeBytes(node->shape().dtype()));
    }
  }
  return target.lanes(widest);
}

Dim ElementwiseCost(const ir::Graph& region, const Target& target) {
  Dim cost(0);
  for (const auto& node : region.nodes()) {
    const Dim elements = node->shape().NumElements();
    const double bytes = ir::DTypeBytes(node->shape().dtype());
    const double vectors = bytes / target.vector_bytes;
    switch (node->op()) {
      case Op::kParameter:
        cost = cost + Cost(ElementsRead(*node), bytes / target.memory_bytes_per_ns);
        break;
      case Op::kConstant:
      case Op::kBroadcastInDim:
      case Op::kReshape:
        break;
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kMax:
      case Op::kMin:
        cost = cost + Cost(elements, target.ns(vectors * 0.8));
        break;
      case Op::kGather:
        cost = cost + Cost(elements, target.ns(0.8));
        break;
      case Op::kTranspose:
        cost = cost + Cost(elements, target.ns(2));
        break;
      case Op::kDiv:
      case Op::kSqrt:
      case Op::kRsqrt:
        cost = cost + Cost(elements, target.ns(vectors * 12));
        break;
      case Op::kReduce:
        cost = cost + Cost(node->operand_shape(0).NumElements(), target.ns(vectors * 1.2));
        break;
      default:
        cost =
            cost + Cost(elements, target.ns(vectors * (loop::math::IsLong(node->op()) ? 20 : 8)));
    }
  }
  for (ir::Value v : region.outputs()) {
    cost = cost +
           Cost(v.shape().NumElements(), ir::DTypeBytes(v.dtype()) / target.memory_bytes_per_ns);
  }
  return cost;
}

void ForEachVector(loop::Builder& b, const Dim& size, int lanes,
                   const std::function<void(Value, Value)>& body) {
  const Dim left = Mod(size, lanes);
  const Value whole = b.Index(size - left);
  b.For(b.Index(0), whole, lanes, [&](Value at) { body(at, Value()); });
  b.If(b.Compare("gt", b.Index(left), b.Index(0)),
       [&] { body(whole, b.MaskUpTo(b.Index(left), lanes)); });
}

}  // namespace tektite::cpu
