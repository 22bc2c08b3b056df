#include "jit/llvm/fold.h"

#include <algorithm>

namespace tektite::loop {

using ir::Op;

std::optional<int64_t> FoldIndex(Op op, int64_t a, int64_t b) {
  const uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (op) {
    case Op::kAdd:
      return static_cast<int64_t>(ua + ub);
    case Op::kSub:
      return static_cast<int64_t>(ua - ub);
    case Op::kMul:
      return static_cast<int64_t>(ua * ub);
    case Op::kDiv:
      if (b == 0) return -1;
      return b == -1 ? static_cast<int64_t>(0 - ua) : a / b;
    case Op::kRem:
      if (b == 0) return a;
      return b == -1 ? 0 : a % b;
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kAnd:
      return a & b;
    case Op::kOr:
      return a | b;
    case Op::kXor:
      return a ^ b;
    case Op::kShiftLeft:
      return ub >= 64 ? 0 : static_cast<int64_t>(ua << ub);
    case Op::kShiftRightLogical:
      return ub >= 64 ? 0 : static_cast<int64_t>(ua >> ub);
    case Op::kShiftRightArithmetic:
      return a >> std::min<uint64_t>(ub, 63);
    default:
      return std::nullopt;
  }
}

std::optional<bool> FoldBool(Op op, bool a, bool b) {
  switch (op) {
    case Op::kAnd:
    case Op::kMin:
    case Op::kMul:
      return a && b;
    case Op::kOr:
    case Op::kMax:
    case Op::kAdd:
      return a || b;
    case Op::kXor:
      return a != b;
    default:
      return std::nullopt;
  }
}

bool FoldCompare(Direction direction, int64_t a, int64_t b) {
  switch (direction) {
    case Direction::kEq:
      return a == b;
    case Direction::kNe:
      return a != b;
    case Direction::kLt:
      return a < b;
    case Direction::kLe:
      return a <= b;
    case Direction::kGt:
      return a > b;
    default:
      return a >= b;
  }
}

namespace {

bool IsInt(Value v, int64_t n) {
  const Instr* c = ConstantOf(v);
  return c != nullptr && !ir::IsFloat(v.dtype()) && IntOf(*c) == n;
}

bool IsOne(Value v) {
  const Instr* c = ConstantOf(v);
  if (c == nullptr) return false;
  return ir::IsFloat(v.dtype()) ? FloatOf(*c) == 1 : IntOf(*c) == 1;
}

bool IsBinary(Value v, Op op) {
  return v.instr() != nullptr && v.instr()->code == Code::kBinary && v.instr()->op == op;
}

Scaled AsScaled(Value v) {
  if (!IsBinary(v, Op::kMul) || !v.instr()->operands[1].IsConstantIndex()) return {v, 1};
  return {v.instr()->operands[0], v.instr()->operands[1].constant_index()};
}

}  // namespace

Scaled Recombined(Value a, Value b) {
  const Scaled high = AsScaled(a), low = AsScaled(b);
  if (!IsBinary(high.value, Op::kDiv) || !IsBinary(low.value, Op::kRem)) return {};
  const auto &quotient = high.value.instr()->operands, &rest = low.value.instr()->operands;
  if (!(quotient[0] == rest[0]) || !(quotient[1] == rest[1])) return {};
  const Value n = rest[1];
  if (!n.IsConstantIndex() || FoldIndex(Op::kMul, n.constant_index(), low.factor) != high.factor) {
    return {};
  }
  return {rest[0], low.factor};
}

Value Identity(Op op, Value a, Value b) {
  const bool boolean = a.dtype() == DType::kBool;
  switch (op) {
    case Op::kAdd:
    case Op::kOr:
      if (IsInt(b, 0)) return a;
      if (IsInt(a, 0)) return b;
      if (boolean && IsOne(a)) return a;
      if (boolean && IsOne(b)) return b;
      return {};
    case Op::kAnd:
      if (IsInt(a, 0)) return a;
      if (IsInt(b, 0)) return b;
      if (boolean && IsOne(a)) return b;
      if (boolean && IsOne(b)) return a;
      return {};
    case Op::kMul:
      if (IsOne(b)) return a;
      if (IsOne(a)) return b;
      if (IsInt(b, 0)) return b;
      if (IsInt(a, 0)) return a;
      return {};
    case Op::kDiv:
      return IsOne(b) ? a : Value();
    case Op::kSub:
    case Op::kShiftLeft:
    case Op::kShiftRightLogical:
    case Op::kShiftRightArithmetic:
    case Op::kXor:
      return IsInt(b, 0) ? a : Value();
    case Op::kMin:
    case Op::kMax:
      return a == b ? a : Value();
    default:
      return {};
  }
}

}  // namespace tektite::loop
