#include "clustering/importer/xla_values.h"

#include <cmath>
#include <limits>

namespace tektite::importer {
namespace {

bool IsOp(Value v, Op op) { return v && v.node->op() == op; }

Value Full(FuncBuilder& b, Value like, const Literal& one) {
  return b.BroadcastTo(b.Constant(one), like.shape().dims());
}

// Whether every element is the constant 1.
bool IsOne(Value v) {
  while (IsOp(v, Op::kBroadcastInDim) || IsOp(v, Op::kReshape)) v = v.node->operand(0);
  return IsOp(v, Op::kConstant) && v.node->attrs().GetLiteral(ir::Attr::value).IsAll(1);
}

DType IntegerOf(DType dtype) {
  switch (ir::DTypeBytes(dtype)) {
    case 2:
      return DType::kS16;
    case 4:
      return DType::kS32;
    default:
      return DType::kS64;
  }
}

// Changes the order of negative floats' bits round; its own inverse.
Value TurnNegative(FuncBuilder& b, Value bits) {
  Value below = b.Compare(bits, b.FullLike(bits, 0), "lt");
  Value magnitude = Full(b, bits, Literal::HighestOf(bits.dtype()));
  return b.Select(below, b.Binary(Op::kXor, bits, magnitude), bits);
}

}  // namespace

Value XlaExtreme(FuncBuilder& b, Value x, Value y, absl::string_view direction) {
  if (!x || !y) return {};
  return b.SelectImplicit(b.CompareImplicit(x, y, direction), y, x);
}

Value WithoutNan(FuncBuilder& b, Value x, absl::string_view reducer) {
  if (!x || !ir::IsFloat(x.dtype()) || (reducer != "max" && reducer != "min")) return x;
  const double loser = (reducer == "max" ? -1 : 1) * std::numeric_limits<double>::infinity();
  return b.Select(b.Compare(x, x, "eq"), x, b.FullLike(x, loser));
}

Value XlaFloatToInteger(FuncBuilder& b, Value x, DType to) {
  if (!x) return x;
  if (ir::DTypeBytes(x.dtype()) < 4) x = b.Convert(x, DType::kF32);
  const int bits = 8 * ir::DTypeBytes(to);
  const bool is_signed = ir::IsSigned(to);
  const double end = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  const double begin = is_signed ? -end : 0;
  Value inside = b.Convert(x, to);
  if (to == DType::kU64) {  // of which a conversion has the lower half
    const double half = std::ldexp(1.0, 63);
    Value upper = b.Convert(b.Sub(x, b.FullLike(x, half)), to);
    Value highest_bit = b.Bitcast(b.Constant(Literal::LowestOf(DType::kS64)), to);
    upper = b.Add(upper, b.BroadcastTo(highest_bit, upper.shape().dims()));
    inside = b.Select(b.Compare(x, b.FullLike(x, half), "ge"), upper, inside);
  }
  Value zero = b.FullLike(inside, 0);
  Value result = b.Select(b.Compare(x, b.FullLike(x, end), "ge"),
                          Full(b, inside, Literal::HighestOf(to)), inside);
  result = b.Select(b.Compare(x, b.FullLike(x, begin), "le"),
                    Full(b, inside, Literal::LowestOf(to)), result);
  return b.Select(b.Compare(x, x, "eq"), result, zero);
}

Value XlaShift(FuncBuilder& b, Value x, Value by, bool left) {
  const int bits = 8 * ir::DTypeBytes(x.dtype());
  Value last = b.FullLike(by, bits - 1), zero = b.FullLike(by, 0);
  Value fits = b.Binary(Op::kAnd, b.Compare(by, zero, "ge"), b.Compare(by, last, "le"));
  by = b.Clamp(zero, by, last);
  if (left) return b.Select(fits, b.Binary(Op::kShiftLeft, x, by), b.FullLike(x, 0));
  if (!ir::IsSigned(x.dtype())) {
    return b.Select(fits, b.Binary(Op::kShiftRightLogical, x, by), b.FullLike(x, 0));
  }
  return b.Binary(Op::kShiftRightArithmetic, x, b.Select(fits, by, last));
}

Value TotalOrder(FuncBuilder& b, Value x) {
  if (!x || !ir::IsFloat(x.dtype())) return x;
  return TurnNegative(b, b.Bitcast(x, IntegerOf(x.dtype())));
}

Value FromTotalOrder(FuncBuilder& b, Value keys, DType dtype) {
  if (!keys || !ir::IsFloat(dtype)) return keys;
  return b.Bitcast(TurnNegative(b, keys), dtype);
}

Value XlaSqrt(FuncBuilder& b, Value x) {
  if (!IsOp(x, Op::kMul) || x.node->operand(0) != x.node->operand(1)) return {};
  return b.Abs(x.node->operand(0));
}

Value XlaLog(Value x) { return IsOp(x, Op::kExp) ? x.node->operand(0) : Value(); }

Value XlaMul(FuncBuilder& b, Value x, Value y) {
  if (!x || !y || x.shape() != y.shape()) return {};
  if (IsOne(x)) return y;
  if (IsOne(y)) return x;
  if (!IsOp(x, Op::kExp) || !IsOp(y, Op::kExp)) return {};
  return b.Exp(b.Add(x.node->operand(0), y.node->operand(0)));
}

Value XlaDiv(FuncBuilder& b, Value x, Value y) {
  if (!x || !y || x.shape() != y.shape()) return {};
  if (IsOp(y, Op::kExp)) {
    Value inverse = b.Exp(b.Neg(y.node->operand(0)));
    return IsOne(x) ? inverse : b.Mul(x, inverse);
  }
  if (!IsOp(x, Op::kDiv)) return {};
  return b.Div(x.node->operand(0), b.Mul(x.node->operand(1), y));
}

}  // namespace tektite::importer
