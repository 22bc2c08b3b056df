#include "jit/passes/fusion/fusion_nodes.h"

#include <algorithm>

#include "jit/ir/part.h"
#include "jit/ir/writes.h"
#include "jit/passes/names.h"

namespace tektite::passes {
namespace {

// The row emitter keeps values of a row in scratch: longer ones would not stay in any near cache.
constexpr int64_t kMaxRowLength = 1 << 17;
// The size that decisions assume where it is not known: the length of a text, of a batch of rows.
constexpr int64_t kAssumedSize = 1024;

// The reduced dimensions are the innermost ones (those of size 1 aside).
bool ReducesInnermost(const Node& reduce) {
  const auto& dims = reduce.Ints(Attr::dimensions);
  bool seen_reduced = false;
  for (int i = 0; i < reduce.operand_shape(0).rank(); ++i) {
    if (reduce.operand_shape(0).dim(i) == ir::Dim(1)) continue;
    bool reduced = std::find(dims.begin(), dims.end(), i) != dims.end();
    if (seen_reduced && !reduced) return false;
    seen_reduced |= reduced;
  }
  return true;
}

}  // namespace

Dims Squeezed(const ir::Shape& shape) { return ir::WithoutOnes(shape.dims()); }

std::vector<int> KeptDims(const ir::Shape& shape) {
  std::vector<int> kept;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) != ir::Dim(1)) kept.push_back(i);
  }
  return kept;
}

bool IsMovement(Op op) {
  switch (op) {
    case Op::kConcatenate:
    case Op::kDynamicSlice:
    case Op::kDynamicUpdateSlice:
    case Op::kGather:
    case Op::kPad:
    case Op::kReverse:
    case Op::kSlice:
    case Op::kTranspose:
    case Op::kReshape:
      return true;
    default:
      return false;
  }
}

bool IsExpensive(const Node& node) {
  switch (node.op()) {
    case Op::kAbs:
    case Op::kAnd:
    case Op::kAdd:
    case Op::kBitcast:
    case Op::kCeil:
    case Op::kClamp:
    case Op::kCompare:
    case Op::kConvert:
    case Op::kFloor:
    case Op::kIsFinite:
    case Op::kMax:
    case Op::kMin:
    case Op::kMul:
    case Op::kNeg:
    case Op::kNot:
    case Op::kOr:
    case Op::kRoundEven:
    case Op::kSelect:
    case Op::kSign:
    case Op::kSub:
    case Op::kXor:
      return false;
    default:
      return !IsMovement(node.op());
  }
}

int64_t ElementsOf(const Dims& dims) {
  int64_t n = 1;
  for (const ir::Dim& d : dims) n *= d.value_or(kAssumedSize);
  return n;
}

bool FitsRowKernel(const Node& reduce, const Dims& space, const Dims& kept) {
  int64_t rows = ElementsOf(kept), elements = ElementsOf(space);
  return ReducesInnermost(reduce) && rows > 0 &&
         elements / std::max<int64_t>(rows, 1) <= kMaxRowLength;
}

bool IsSimpleReduce(const Node& node) {
  return node.op() == Op::kReduce && node.num_regions() == 0;
}

bool IsDirectUse(const Node& user) { return ir::IsElementwise(user.op()) || IsSimpleReduce(user); }

bool IsFreeOp(const Node& node) {
  switch (node.op()) {
    case Op::kConstant:
      return node.attrs().GetLiteral(Attr::value).num_elements() == 1;
    case Op::kBroadcastInDim:
    case Op::kIota:
      return true;
    case Op::kReshape:
      return Squeezed(node.shape()) == Squeezed(node.operand_shape(0));
    default:
      return false;
  }
}

bool IsPartOfMemory(const Node& node, int64_t alignment) {
  if (!ir::IsPart(node, alignment)) return false;
  const Node* whole = node.operand(0).node;
  while (whole->op() == Op::kReshape) whole = whole->operand(0).node;
  return whole->op() == Op::kParameter || whole->op() == Op::kDotGeneral ||
         whole->op() == Op::kConvolution;
}

bool IsRowOfTurn(const Node& node) {
  return node.op() == Op::kDynamicSlice && node.operand(0).node->op() == Op::kParameter;
}

int64_t RunsOfReaders(ir::Value value, bool in_loop) {
  constexpr int64_t kAssumedTurns = 16;
  return (in_loop ? kAssumedTurns : 1) * static_cast<int64_t>(value.node->uses(value.index).size());
}

bool ReadsMemory(const Node& node) {
  return !ir::IsElementwise(node.op()) && !IsSimpleReduce(node) && !IsMovement(node.op()) &&
         node.op() != Op::kBroadcastInDim;
}

}  // namespace tektite::passes
