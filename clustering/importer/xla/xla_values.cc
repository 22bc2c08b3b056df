#include "clustering/importer/xla/xla_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace tektite::importer {
namespace {

constexpr int kLeastNormalBits = 0x00800000;  // of f32

bool IsOp(Value v, Op op) { return v && v.node->op() == op; }

Value Full(FuncBuilder& b, Value like, const Literal& one) {
  return b.BroadcastTo(b.Constant(one), like.shape().dims());
}

// The number that every element is, where that is known.
std::optional<double> UniformConstant(Value v) {
  while (IsOp(v, Op::kBroadcastInDim) || IsOp(v, Op::kReshape)) v = v.node->operand(0);
  if (!IsOp(v, Op::kConstant)) return std::nullopt;
  const Literal& literal = v.node->attrs().GetLiteral(ir::Attr::value);
  if (!literal.IsSplat()) return std::nullopt;
  return literal.AsDouble(0);
}

// The same of a difference of two such numbers, as in the gradient of a power.
std::optional<double> ConstantExponent(Value v) {
  if (!IsOp(v, Op::kSub)) return UniformConstant(v);
  const std::optional<double> x = UniformConstant(v.node->operand(0));
  const std::optional<double> y = UniformConstant(v.node->operand(1));
  return x && y ? std::optional<double>(static_cast<float>(*x - *y)) : std::nullopt;
}

// Whether every dimension of y beside x's is 1, so that a result has x's shape.
bool KeepsShape(const Shape& x, const Shape& y) {
  if (y.rank() > x.rank()) return false;
  return std::all_of(y.dims().begin(), y.dims().end(), [](const Dim& d) { return d == Dim(1); }) ||
         x == y;
}

// As XLA's code has it, which takes denormals for 0.
double Rounded(DType dtype, double number) {
  if (dtype != DType::kF32) return number;
  const auto rounded = static_cast<float>(number);
  return std::abs(rounded) < std::numeric_limits<float>::min() ? std::copysign(0, number) : rounded;
}

// v is base * factor.
struct Scaled {
  Value base;
  double factor = 1;
};
Scaled ScaledOf(Value v) {
  if (!IsOp(v, Op::kMul)) return {v};
  for (const int i : {0, 1}) {
    const std::optional<double> factor = UniformConstant(v.node->operand(i));
    if (factor) return {v.node->operand(1 - i), *factor};
  }
  return {v};
}

// x * factor, of which the factor of x is a part.
Value TimesConstant(FuncBuilder& b, Value x, double factor) {
  const Scaled scaled = ScaledOf(x);
  const double all = Rounded(x.dtype(), scaled.factor * factor);
  return all == 1 ? scaled.base : b.Mul(scaled.base, b.FullLike(scaled.base, all));
}

// v is base + constant.
struct Shifted {
  Value base;
  double constant = 0;
};
Shifted ShiftedOf(Value v) {
  if (!IsOp(v, Op::kAdd) && !IsOp(v, Op::kSub)) return {v};
  const double sign = IsOp(v, Op::kSub) ? -1 : 1;
  const std::optional<double> constant = UniformConstant(v.node->operand(1));
  if (constant) return {v.node->operand(0), sign * *constant};
  const std::optional<double> first = UniformConstant(v.node->operand(0));
  if (first && sign > 0) return {v.node->operand(1), *first};
  return {v};
}

// Of what v is a sum of one element each; v itself where it is none.
Value OnlyTerm(Value v) {
  while (v && (IsOp(v, Op::kReshape) || IsOp(v, Op::kReduce))) {
    if (IsOp(v, Op::kReduce) &&
        (v.node->num_operands() != 1 || v.node->attrs().String(ir::Attr::reducer) != "add")) {
      break;
    }
    const Value of = v.node->operand(0);
    if (of.shape().NumElements() != v.shape().NumElements()) break;
    v = of;
  }
  return v;
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
  // A constant is the second operand there.
  if (UniformConstant(x) && !UniformConstant(y)) std::swap(x, y);
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
  const Value term = OnlyTerm(x);
  if (!IsOp(term, Op::kMul) || term.node->operand(0) != term.node->operand(1)) return {};
  const Value magnitude = b.Abs(term.node->operand(0));
  return term == x ? magnitude : b.Reshape(magnitude, x.shape().dims());
}

Value XlaLog(FuncBuilder& b, Value x) {
  if (IsOp(x, Op::kExp)) return x.node->operand(0);
  if (!IsOp(x, Op::kRsqrt)) return {};
  const Value log = b.Log(x.node->operand(0));
  return b.Mul(log, b.FullLike(log, -0.5));
}

Value XlaSum(FuncBuilder& b, Value x, Value y, bool subtracts) {
  if (!x || !y) return {};
  if (!subtracts && UniformConstant(x)) std::swap(x, y);
  const std::optional<double> constant = UniformConstant(y);
  if (!constant || !KeepsShape(x.shape(), y.shape())) return {};
  const Shifted shifted = ShiftedOf(x);
  if (shifted.base == x || UniformConstant(shifted.base)) return {};
  const double both = shifted.constant + (subtracts ? -*constant : *constant);
  return b.Add(shifted.base, b.FullLike(x, Rounded(x.dtype(), both)));
}

Value XlaMul(FuncBuilder& b, Value x, Value y) {
  if (!x || !y) return {};
  if (UniformConstant(x)) std::swap(x, y);
  const std::optional<double> factor = UniformConstant(y);
  if (factor && !UniformConstant(x) && KeepsShape(x.shape(), y.shape())) {
    return *factor == 1 || ScaledOf(x).base != x ? TimesConstant(b, x, *factor) : Value();
  }
  if (x.shape() != y.shape() || !IsOp(x, Op::kExp) || !IsOp(y, Op::kExp)) return {};
  return b.Exp(b.Add(x.node->operand(0), y.node->operand(0)));
}

Value XlaDiv(FuncBuilder& b, Value x, Value y) {
  if (!x || !y) return {};
  const std::optional<double> divisor = UniformConstant(y);
  if (divisor && !UniformConstant(x) && KeepsShape(x.shape(), y.shape())) {
    return TimesConstant(b, x, Rounded(x.dtype(), 1 / *divisor));
  }
  // Constants of these stay apart.
  const auto product = [&b](Value v, Value w) {
    if (UniformConstant(v) == 1 && KeepsShape(w.shape(), v.shape())) return w;
    if (UniformConstant(w) == 1 && KeepsShape(v.shape(), w.shape())) return v;
    return b.BinaryImplicit(Op::kMul, v, w);
  };
  const auto quotient = [&b](Value v, Value w) {
    if (UniformConstant(w) == 1 && KeepsShape(v.shape(), w.shape())) return v;
    return b.BinaryImplicit(Op::kDiv, v, w);
  };
  if (IsOp(y, Op::kExp)) {
    const Value inverse = b.Exp(b.Neg(y.node->operand(0)));
    const Value joined = XlaMul(b, x, inverse);
    return joined ? joined : product(x, inverse);
  }
  if (IsOp(y, Op::kDiv)) {  // x / (a / c)
    const Value a = y.node->operand(0), c = y.node->operand(1);
    if (!IsOp(x, Op::kDiv)) return quotient(product(x, c), a);
    return quotient(product(x.node->operand(0), c), product(x.node->operand(1), a));
  }
  if (!IsOp(x, Op::kDiv)) return {};
  return quotient(x.node->operand(0), product(x.node->operand(1), y));
}

Value XlaPow(FuncBuilder& b, Value x, Value y) {
  if (!x || !y || x.dtype() != DType::kF32 || !KeepsShape(x.shape(), y.shape())) return {};
  const std::optional<double> exponent = ConstantExponent(y);
  if (!exponent || *exponent == 0.5 || *exponent == std::floor(*exponent)) return {};
  // By the bits: a thread that takes denormals for 0 has none.
  Value bits = b.Bitcast(x, DType::kS32);
  Value magnitude = b.Binary(Op::kAnd, bits, Full(b, bits, Literal::HighestOf(DType::kS32)));
  Value is_denormal = b.Binary(Op::kAnd, b.Compare(magnitude, b.FullLike(bits, 0), "gt"),
                               b.Compare(magnitude, b.FullLike(bits, kLeastNormalBits), "lt"));
  Value of_denormal = b.Select(b.Compare(bits, b.FullLike(bits, 0), "lt"),
                               b.FullLike(x, std::numeric_limits<double>::quiet_NaN()),
                               b.FullLike(x, static_cast<float>(std::exp2(-150 * *exponent))));
  return b.Select(is_denormal, of_denormal, b.BinaryImplicit(Op::kPow, x, y));
}

}  // namespace tektite::importer
