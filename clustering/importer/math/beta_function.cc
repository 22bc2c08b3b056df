// The regularized incomplete beta function of single-precision numbers, computed in double
// precision and rounded once (special_functions.cc says why).
//
// By its continued fraction (W. H. Press et al., "Numerical recipes", 6.4), which converges within
// sqrt(max(a, b)) turns where x < (a + 1) / (a + b + 2).  Elsewhere by the symmetry
// I(a, b, x) = 1 - I(b, a, 1 - x).
//
// Limits: f32; TensorFlow has no kernel for f16.
#include <array>

#include "clustering/importer/control/element_loops.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/math/special_functions.h"

namespace tektite::importer {
namespace {

Value OneMinus(FuncBuilder& b, Value x) { return b.Sub(b.FullLike(x, 1), x); }

// The fraction for 0 < x < (a + 1) / (a + b + 2), by Lentz's algorithm.
Value FractionOf(FuncBuilder& builder, Value a, Value b, Value x) {
  const Value one = builder.FullLike(a, 1);
  const Value first = builder.Div(
      one, OneMinus(builder, builder.Div(builder.Mul(builder.Add(a, b), x), builder.Add(a, one))));
  const Step step = [](FuncBuilder& r, const Values& s, const Values& fixed) {
    const Value a = fixed[0], b = fixed[1], x = fixed[2], one = r.FullLike(a, 1);
    const Value m = r.Add(s[0], one), twice = r.Add(a, r.Add(m, m));
    const Value even = r.Div(r.Mul(r.Mul(m, r.Sub(b, m)), x), r.Mul(r.Sub(twice, one), twice));
    const Value odd = r.Neg(r.Div(r.Mul(r.Mul(r.Add(a, m), r.Add(r.Add(a, b), m)), x),
                                  r.Mul(twice, r.Add(twice, one))));
    Value d = s[1], c = s[2], product = s[3], factor;
    for (const Value term : {even, odd}) {
      d = r.Div(one, r.Add(r.Mul(term, d), one));
      c = r.Add(one, r.Div(term, c));
      factor = r.Mul(d, c);
      product = r.Mul(product, factor);
    }
    return Turn{{m, d, c, product}, r.Not(IsSettled(r, r.Sub(factor, one), one))};
  };
  return Iterate(builder, {builder.FullLike(a, 0), first, one, first}, {a, b, x}, step)[3];
}

Value IncompleteBeta(FuncBuilder& builder, Value a, Value b, Value x) {
  const Value one = builder.FullLike(a, 1), zero = builder.FullLike(a, 0);
  const auto both = [&](Value p, Value q) { return builder.Binary(Op::kAnd, p, q); };
  const auto is_size = [&](Value v) {
    return both(Is(builder, v, "gt", 0), builder.Unary(Op::kIsFinite, v));
  };
  const Value are_sizes = both(is_size(a), is_size(b));
  const Value inside = both(Is(builder, x, "gt", 0), Is(builder, x, "lt", 1));
  const Value has_value = both(are_sizes, inside);
  // Others have harmless arguments.
  const Value a1 = builder.Select(has_value, a, one), b1 = builder.Select(has_value, b, one);
  const Value x1 = builder.Select(has_value, x, builder.FullLike(x, 0.25));
  const Value sum = builder.Add(a1, b1);
  const Value middle =
      builder.Div(builder.Add(a1, one), builder.Add(sum, builder.FullLike(sum, 2)));
  const Value mirrored = builder.Compare(x1, middle, "ge");
  const Value p = builder.Select(mirrored, b1, a1), q = builder.Select(mirrored, a1, b1);
  const Value y = builder.Select(mirrored, OneMinus(builder, x1), x1);
  const Value size =
      builder.Sub(builder.Sub(LogGamma(builder, sum), LogGamma(builder, p)), LogGamma(builder, q));
  const Value powers = builder.Add(builder.Mul(p, builder.Log(y)),
                                   builder.Mul(q, builder.Unary(Op::kLog1p, builder.Neg(y))));
  const Value part = builder.Div(
      builder.Mul(builder.Exp(builder.Add(size, powers)), FractionOf(builder, p, q, y)), p);
  const Value value = builder.Select(mirrored, OneMinus(builder, part), part);
  const Value at_end =
      builder.Select(Is(builder, x, "eq", 0), zero,
                     builder.Select(Is(builder, x, "eq", 1), one, builder.FullLike(x, kNone)));
  // TensorFlow asks for the sign of a and b first, and for NaN only where x is inside.
  const Value is_negative =
      builder.Binary(Op::kOr, Is(builder, a, "le", 0), Is(builder, b, "le", 0));
  const Value edge = builder.Select(is_negative, builder.FullLike(x, kNone), at_end);
  return builder.Select(has_value, value, edge);
}

}  // namespace

absl::Status ImportBetainc(NodeImport& op) {
  FuncBuilder& b = op.b();
  if (op.InputDType(0) != DType::kF32) return op.Refuse(ir::DTypeName(op.InputDType(0)));
  std::array<Value, 3> operands;
  int most = 0;
  for (int i = 0; i < 3; ++i) {
    operands[i] = b.Convert(op.Input(i), DType::kF64);
    if (!operands[i]) return op.Return(Value());
    if (operands[i].shape().rank() > operands[most].shape().rank()) most = i;
  }
  const Dims dims = operands[most].shape().dims();
  for (Value& operand : operands) {  // scalars are stretched, and nothing else
    if (operand.shape().rank() != 0 && operand.shape().dims() != dims) return op.Refuse("shapes");
    operand = b.BroadcastTo(operand, dims);
    if (!operand) return op.Return(operand);
  }
  const Value result = IncompleteBeta(b, operands[0], operands[1], operands[2]);
  return op.Return(b.Convert(result, DType::kF32));
}

}  // namespace tektite::importer
