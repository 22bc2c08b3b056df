// Rules of arithmetic: identities, signs, powers.  With floats only what IEEE 754 makes exact, for
// signed zeros and NaN too: x * 0, x + 0 and x - x stay.
#include <cmath>

#include "jit/passes/canonicalize/rules.h"

namespace tektite::passes::rules {
namespace {

// 2^n whose reciprocal is a normal number of the type, so that multiplying by it is exact division.
bool HasExactReciprocal(const Literal& scalar) {
  int exponent = 0;
  const double value = scalar.AsDouble(0);
  if (!std::isfinite(value) || std::fabs(std::frexp(value, &exponent)) != 0.5) return false;
  const int most = scalar.dtype() == DType::kF64 ? 1022 : scalar.dtype() == DType::kF16 ? 14 : 126;
  return std::abs(exponent - 1) <= most;
}

bool IsConstant(Value value) { return ConstantOf(value) || SplatOf(value); }

}  // namespace

// add(%c, %x)  ->  add(%x, %c)        for a constant %c
// The sign of the zero max(0, -0) is not defined; all other results are the same either way.
Value ConstantToTheRight(Node* node, FuncBuilder& b) {
  if (!IsConstant(node->operand(0)) || IsConstant(node->operand(1))) return {};
  return b.Binary(node->op(), node->operand(1), node->operand(0));
}

// add(add(%x, 1), 2)  ->  add(%x, add(1, 2))        integers; max and min of any type
// A sum of constants alone is for fold_constants: here its terms would change places forever.
Value AssociateConstants(Node* node, FuncBuilder& b) {
  const bool exact =
      !ir::IsFloat(node->shape().dtype()) || node->op() == Op::kMax || node->op() == Op::kMin;
  Node* inner = Producer(node->operand(0), node->op());
  if (!exact || !inner || !IsConstant(node->operand(1)) || !IsConstant(inner->operand(1)) ||
      IsConstant(inner->operand(0))) {
    return {};
  }
  return b.Binary(node->op(), inner->operand(0),
                  b.Binary(node->op(), inner->operand(1), node->operand(1)));
}

// add(%x, 0)  ->  %x        integers, and floats where the zero is -0
Value AddOfZero(Node* node, FuncBuilder& b) {
  const bool is_float = ir::IsFloat(node->shape().dtype());
  return IsSplatZero(node->operand(1), is_float) ? node->operand(0) : Value();
}

// sub(%x, 0)  ->  %x        a float zero must be +0
Value SubOfZero(Node* node, FuncBuilder& b) {
  return IsSplatZero(node->operand(1), false) ? node->operand(0) : Value();
}

// sub(0, %x)  ->  neg(%x)        signed integers, and floats where the zero is -0
Value SubFromZero(Node* node, FuncBuilder& b) {
  const DType dtype = node->shape().dtype();
  if (!ir::IsSigned(dtype) || !IsSplatZero(node->operand(0), ir::IsFloat(dtype))) return {};
  return b.Neg(node->operand(1));
}

// sub(%x, %x)  ->  0        integers
Value SubOfSelf(Node* node, FuncBuilder& b) {
  if (ir::IsFloat(node->shape().dtype()) || node->operand(0) != node->operand(1)) return {};
  return ZeroLike(b, node->result());
}

// add(%x, neg(%y))  ->  sub(%x, %y)
// add(neg(%x), %y)  ->  sub(%y, %x)
Value AddOfNeg(Node* node, FuncBuilder& b) {
  if (Node* neg = Producer(node->operand(1), Op::kNeg)) {
    return b.Binary(Op::kSub, node->operand(0), neg->operand(0));
  }
  if (Node* neg = Producer(node->operand(0), Op::kNeg)) {
    return b.Binary(Op::kSub, node->operand(1), neg->operand(0));
  }
  return {};
}

// sub(%x, neg(%y))  ->  add(%x, %y)
Value SubOfNeg(Node* node, FuncBuilder& b) {
  Node* neg = Producer(node->operand(1), Op::kNeg);
  return neg ? b.Binary(Op::kAdd, node->operand(0), neg->operand(0)) : Value();
}

// mul(neg(%x), neg(%y))  ->  mul(%x, %y)        also div
Value SignsCancel(Node* node, FuncBuilder& b) {
  Node* left = Producer(node->operand(0), Op::kNeg);
  Node* right = Producer(node->operand(1), Op::kNeg);
  // The most negative integer is its own negative: dividing by it would change sign.
  if (!left || !right || (node->op() == Op::kDiv && !ir::IsFloat(node->shape().dtype()))) return {};
  return b.Binary(node->op(), left->operand(0), right->operand(0));
}

// neg(neg(%x))  ->  %x
Value NegOfNeg(Node* node, FuncBuilder& b) {
  Node* inner = Producer(node->operand(0), Op::kNeg);
  return inner ? inner->operand(0) : Value();
}

// neg(sub(%x, %y))  ->  sub(%y, %x)        integers: with floats 0 would change its sign
Value NegOfSub(Node* node, FuncBuilder& b) {
  Node* sub = OnlyProducer(node->operand(0), Op::kSub);
  if (!sub || ir::IsFloat(node->shape().dtype())) return {};
  return b.Binary(Op::kSub, sub->operand(1), sub->operand(0));
}

// mul(%x, 1)  ->  %x        also div(%x, 1)
Value MulOfOne(Node* node, FuncBuilder& b) {
  return IsSplat(node->operand(1), 1) ? node->operand(0) : Value();
}

// mul(%x, -1)  ->  neg(%x)        also div(%x, -1)
Value MulOfMinusOne(Node* node, FuncBuilder& b) {
  if (!ir::IsSigned(node->shape().dtype()) || !IsSplat(node->operand(1), -1)) return {};
  return b.Neg(node->operand(0));
}

// mul(%x, 0)  ->  0        integers: with floats inf and NaN show, and the sign
Value MulOfZero(Node* node, FuncBuilder& b) {
  if (ir::IsFloat(node->shape().dtype()) || !IsSplat(node->operand(1), 0)) return {};
  return ZeroLike(b, node->result());
}

// div(%x, 8)  ->  mul(%x, 0.125)        floats and powers of two: both round the same number
Value DivByPowerOfTwo(Node* node, FuncBuilder& b) {
  const DType dtype = node->shape().dtype();
  std::optional<Literal> divisor = SplatOf(node->operand(1));
  if (!ir::IsFloat(dtype) || !divisor || !HasExactReciprocal(*divisor)) return {};
  return b.Binary(
      Op::kMul, node->operand(0),
      SplatTo(b, Literal::ScalarOf(dtype, 1 / divisor->AsDouble(0)), node->shape().dims()));
}

// pow(%x, 1)  ->  %x
// pow(%x, 2)  ->  mul(%x, %x)
// pow(%x, 3)  ->  mul(mul(%x, %x), %x)        rounds twice where pow rounds once
// pow(%x, 0)  ->  1                           for NaN too, as C's pow
Value PowOfSmallInteger(Node* node, FuncBuilder& b) {
  Value x = node->operand(0);
  if (IsSplat(node->operand(1), 1)) return x;
  if (IsSplat(node->operand(1), 2)) return b.Binary(Op::kMul, x, x);
  if (IsSplat(node->operand(1), 3)) return b.Binary(Op::kMul, b.Binary(Op::kMul, x, x), x);
  if (IsSplat(node->operand(1), 0)) {
    return SplatTo(b, Literal::ScalarOf(x.dtype(), 1), x.shape().dims());
  }
  return {};
}

// pow(%x, 0.5)  ->  select(eq(%x, -inf), inf, add(sqrt(%x), 0))
// The sum turns sqrt's -0 for -0 into the 0 that pow returns, the select its NaN for -inf into inf.
Value PowOfOneHalf(Node* node, FuncBuilder& b) {
  Value x = node->operand(0);
  if (!ir::IsFloat(x.dtype()) || !IsSplat(node->operand(1), 0.5)) return {};
  const Dims& dims = x.shape().dims();
  const Literal infinity = Literal::HighestOf(x.dtype());
  Value is_lowest = b.Compare(x, SplatTo(b, Literal::LowestOf(x.dtype()), dims), "eq");
  Value root = b.Sqrt(x);
  root = b.Binary(Op::kAdd, root, ZeroLike(b, x));
  return b.Select(is_lowest, SplatTo(b, infinity, dims), root);
}

// max(%x, %x)  ->  %x        also min, and, or
Value SameOperands(Node* node, FuncBuilder& b) {
  return node->operand(0) == node->operand(1) ? node->operand(0) : Value();
}

// max(%x, -inf)  ->  %x        the smallest value of the type; NaN stays NaN
Value MaxOfLowest(Node* node, FuncBuilder& b) {
  std::optional<Literal> splat = SplatOf(node->operand(1));
  if (!splat || !(*splat == Literal::LowestOf(splat->dtype()))) return {};
  return node->operand(0);
}

// max(min(max(%x, 0), 6), 0)  ->  min(max(%x, 0), 6)        floats; also min(max(min(..)))
// The last bound must hold behind the two before it: relu6 in front of FakeQuant.
Value ClampAgain(Node* node, FuncBuilder& b) {
  const Op op = node->op(), other = op == Op::kMax ? Op::kMin : Op::kMax;
  if (!ir::IsFloat(node->shape().dtype())) return {};
  const Node* second = Producer(node->operand(0), other);
  const Node* first = second ? Producer(second->operand(0), op) : nullptr;
  if (!first) return {};
  const auto last = SplatOf(node->operand(1)), before = SplatOf(second->operand(1)),
             inner = SplatOf(first->operand(1));
  if (!last || !before || !inner) return {};
  const double sign = op == Op::kMax ? 1 : -1, bound = sign * last->AsDouble(0);
  const bool holds = sign * before->AsDouble(0) >= bound && sign * inner->AsDouble(0) >= bound;
  return holds ? node->operand(0) : Value();
}

// min(%x, inf)  ->  %x        the largest value of the type
Value MinOfHighest(Node* node, FuncBuilder& b) {
  std::optional<Literal> splat = SplatOf(node->operand(1));
  if (!splat || !(*splat == Literal::HighestOf(splat->dtype()))) return {};
  return node->operand(0);
}

// abs(neg(%x))  ->  abs(%x)
Value AbsOfNeg(Node* node, FuncBuilder& b) {
  Node* neg = Producer(node->operand(0), Op::kNeg);
  return neg ? b.Abs(neg->operand(0)) : Value();
}

// floor(floor(%x))  ->  floor(%x)        any rounding of a rounded value, abs of abs
// floor(%x: s32)    ->  %x               integers are round
Value Idempotent(Node* node, FuncBuilder& b) {
  Value x = node->operand(0);
  auto is_rounding = [](Op op) {
    return op == Op::kCeil || op == Op::kFloor || op == Op::kRoundAway || op == Op::kRoundEven;
  };
  if (is_rounding(node->op())) {
    return is_rounding(x.node->op()) || !ir::IsFloat(x.dtype()) ? x : Value();
  }
  return x.node->op() == node->op() || ir::IsUnsigned(x.dtype()) ? x : Value();
}

}  // namespace tektite::passes::rules
