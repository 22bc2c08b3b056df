#include "jit/passes/quantization/scalar_ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "jit/ops/ops.h"
#include "jit/passes/names.h"

namespace tektite::passes {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// As the interpreter's: NaN where either is.
float Apply(Op op, float x, float y) {
  switch (op) {
    case Op::kAdd:
      return x + y;
    case Op::kSub:
      return x - y;
    case Op::kMul:
      return x * y;
    case Op::kDiv:
      return x / y;
    case Op::kMin:
      return std::isnan(x) || std::isnan(y) ? std::nanf("") : std::min(x, y);
    case Op::kMax:
      return std::isnan(x) || std::isnan(y) ? std::nanf("") : std::max(x, y);
    case Op::kFloor:
      return std::floor(x);
    case Op::kRoundEven:
      return std::nearbyint(x);
    default:  // kRoundAway
      return std::round(x);
  }
}

bool IsInfinite(const Bound& bound, float sign) { return bound.number == sign * kInfinity; }

Bound Number(float number) { return {number, {}}; }

bool IsRounding(Op op) { return op == Op::kFloor || op == Op::kRoundEven || op == Op::kRoundAway; }

bool IsUnderstood(Op op) {
  return op == Op::kAdd || op == Op::kSub || op == Op::kMul || op == Op::kDiv || op == Op::kMin ||
         op == Op::kMax;
}

}  // namespace

Value ScalarRanges::InGraph(FuncBuilder& b, const Bound& bound) {
  return bound.number ? b.Scalar(DType::kF32, *bound.number) : bound.value;
}

Bound ScalarRanges::Apply(FuncBuilder& b, Op op, const Bound& x, const Bound& y) {
  if (x.number && y.number) return Number(passes::Apply(op, *x.number, *y.number));
  // Where there is no bound yet, a clamp is one.
  if (op == Op::kMax && IsInfinite(x, -1)) return y;
  if (op == Op::kMin && IsInfinite(x, 1)) return y;
  if (op == Op::kMax && IsInfinite(x, 1)) return x;
  if (op == Op::kMin && IsInfinite(x, -1)) return x;
  return {std::nullopt, b.Binary(op, InGraph(b, x), InGraph(b, y))};
}

std::optional<Bound> ScalarRanges::ScalarOf(Value v) const {
  Value scalar;  // the first one on the way, such as a reshape of a slice
  while (v.node->op() == Op::kBroadcastInDim || v.node->op() == Op::kReshape) {
    if (!scalar && v.shape().rank() == 0) scalar = v;
    v = v.node->operand(0);
  }
  if (!scalar && v.shape().rank() == 0) scalar = v;
  if (v.dtype() != DType::kF32) return std::nullopt;
  if (v.node->op() == Op::kConstant) {
    const ir::Literal& literal = v.node->attrs().GetLiteral(Attr::value);
    if (!literal.IsSplat()) return std::nullopt;
    return Number(static_cast<float>(literal.AsDouble(0)));
  }
  if (!scalar || !stable_.contains(scalar.node)) return std::nullopt;
  return Bound{std::nullopt, scalar};
}

ScalarRange ScalarRanges::OfBinary(Value v) {
  const Op op = v.node->op();
  Value x = v.node->operand(0);
  std::optional<Bound> c = ScalarOf(v.node->operand(1));
  if (!c && op != Op::kSub && op != Op::kDiv) {
    c = ScalarOf(x);
    x = v.node->operand(1);
  }
  if (!c) return {Number(-kInfinity), Number(kInfinity)};
  const ScalarRange range = Of(x);
  FuncBuilder b(&graph_, v.node);
  ScalarRange result = {Apply(b, op, range.low, *c), Apply(b, op, range.high, *c),
                        range.clamped_at_zero};
  if ((op == Op::kMul || op == Op::kDiv) && !(c->number && *c->number >= 0)) {
    const Bound low = Apply(b, Op::kMin, result.low, result.high);
    result.high = Apply(b, Op::kMax, result.low, result.high);
    result.low = low;
  }
  if (op == Op::kMax && c->number == 0.0f) result.clamped_at_zero = true;
  return result;
}

ScalarRange ScalarRanges::OfClamp(Value v) {
  const std::optional<Bound> low = ScalarOf(v.node->operand(0)),
                             high = ScalarOf(v.node->operand(2));
  if (!low || !high) return {Number(-kInfinity), Number(kInfinity)};
  const ScalarRange range = Of(v.node->operand(1));
  FuncBuilder b(&graph_, v.node);
  const auto clamped = [&](const Bound& bound) {
    return Apply(b, Op::kMin, Apply(b, Op::kMax, bound, *low), *high);
  };
  return {clamped(range.low), clamped(range.high), range.clamped_at_zero || low->number == 0.0f};
}

ScalarRange ScalarRanges::Of(Value v) {
  const Op op = v.node->op();
  if (v.dtype() == DType::kF32 && IsUnderstood(op)) return OfBinary(v);
  if (v.dtype() == DType::kF32 && op == Op::kClamp) return OfClamp(v);
  if (v.dtype() == DType::kF32 && IsRounding(op)) {
    const ScalarRange range = Of(v.node->operand(0));
    FuncBuilder b(&graph_, v.node);
    const auto rounded = [&](const Bound& bound) {
      if (bound.number) return Number(passes::Apply(op, *bound.number, 0));
      return Bound{std::nullopt, b.Unary(op, bound.value)};
    };
    return {rounded(range.low), rounded(range.high), range.clamped_at_zero};
  }
  return {Number(-kInfinity), Number(kInfinity)};
}

}  // namespace tektite::passes
