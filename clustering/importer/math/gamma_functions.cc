// The incomplete gamma functions of single-precision numbers and their derivatives, computed in
// double precision and rounded once (special_functions.cc says why).
//
//   P(a, x) = e^L S    L = a log x - x - log gamma(a + 1)
//                      S = 1 + x/(a+1) + x^2/((a+1)(a+2)) + ...
//   Q(a, x) = e^K h    K = a log x - x - log gamma(a), h a continued fraction
//
// The series serves x <= 1 and x <= a, the fraction the rest (W. Gautschi, "A computational
// procedure for incomplete gamma functions", ACM TOMS 5, 1979; the fraction is evaluated forwards,
// W. J. Lentz, Applied Optics 15, 1976).  Both are loops over whole tensors, which end when no
// element changes any more; an element needs some ten turns, and sqrt(a) of them where x is near a
// large a.
//
// Limits: f16 and f32.
#include <utility>
#include <vector>

#include "clustering/importer/control/element_loops.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/math/special_functions.h"

namespace tektite::importer {
namespace {

// A value and its derivative by a.
struct Dual {
  Value value, by_a;
};

Dual SeriesOf(FuncBuilder& b, Value a, Value x) {
  const Value zero = Like(b, a, 0), one = Like(b, a, 1);
  const Step step = [](FuncBuilder& r, const Values& s, const Values& fixed) {
    const Value place = r.Add(s[0], Like(r, s[0], 1)), ratio = r.Div(fixed[0], place);
    const Value term = r.Mul(s[1], ratio);
    const Value term_by_a = r.Mul(r.Sub(s[2], r.Div(s[1], place)), ratio);
    const Value sum = r.Add(s[3], term), sum_by_a = r.Add(s[4], term_by_a);
    const Value settled =
        r.Binary(Op::kAnd, IsSettled(r, term, sum), IsSettled(r, term_by_a, sum_by_a));
    return Turn{{place, term, term_by_a, sum, sum_by_a}, r.Not(settled)};
  };
  const Values s = Iterate(b, {a, one, zero, one, zero}, {x}, step);
  return {s[3], s[4]};
}

Dual FractionOf(FuncBuilder& b, Value a, Value x) {
  constexpr double kHuge = 1e300;
  const Value zero = Like(b, a, 0);
  const Value first = b.Add(b.Sub(x, a), Like(b, a, 1));
  const Value inverse = b.Div(Like(b, a, 1), first), inverse_by_a = b.Mul(inverse, inverse);
  // i, the denominator's part, D and C of Lentz and their derivatives, the product and its own.
  const Step step = [](FuncBuilder& r, const Values& s, const Values& fixed) {
    const Value i = r.Add(s[0], Like(r, s[0], 1)), part = r.Add(s[1], Like(r, s[1], 2));
    const Value an = r.Mul(i, r.Sub(fixed[0], i)), minus_one = Like(r, i, -1);
    const Value d = r.Div(Like(r, i, 1), r.Add(r.Mul(an, s[2]), part));
    const Value d_by_a =
        r.Neg(r.Mul(r.Mul(d, d), r.Add(r.Add(r.Mul(i, s[2]), r.Mul(an, s[3])), minus_one)));
    const Value quotient = r.Div(an, s[4]), c = r.Add(part, quotient);
    const Value c_by_a = r.Add(minus_one, r.Div(r.Sub(i, r.Mul(quotient, s[5])), s[4]));
    const Value factor = r.Mul(d, c), factor_by_a = r.Add(r.Mul(d_by_a, c), r.Mul(d, c_by_a));
    const Value product = r.Mul(s[6], factor);
    const Value product_by_a = r.Add(r.Mul(s[7], factor), r.Mul(s[6], factor_by_a));
    const Value settled = r.Binary(Op::kAnd, IsSettled(r, r.Sub(product, s[6]), product),
                                   IsSettled(r, r.Sub(product_by_a, s[7]), product_by_a));
    return Turn{{i, part, d, d_by_a, c, c_by_a, product, product_by_a}, r.Not(settled)};
  };
  const Values s = Iterate(
      b, {zero, first, inverse, inverse_by_a, Like(b, a, kHuge), zero, inverse, inverse_by_a}, {a},
      step);
  return {s[6], s[7]};
}

// All that the functions are made of.
struct Parts {
  Value by_series;  // bool: which of the two serves an element
  Dual series, fraction;
  Value log_series, log_fraction;      // L and K, with the series' and the fraction's arguments
  Value slope_series, slope_fraction;  // log x - digamma: their derivatives by a
  Value a, x;
};

// Elements that the other part serves, or that have no value, have harmless arguments.
Parts PartsOf(FuncBuilder& b, Value a, Value x, Value has_value, bool slopes) {
  Parts p;
  p.a = a;
  p.x = x;
  p.by_series = b.Binary(Op::kOr, Is(b, x, "le", 1), b.Compare(x, a, "le"));
  const Value use = b.Binary(Op::kAnd, has_value, p.by_series);
  const Value use_other = b.Binary(Op::kAnd, has_value, b.Not(p.by_series));
  const Value one = Like(b, a, 1), half = Like(b, a, 0.5), two = Like(b, a, 2);
  const Value a1 = b.Select(use, a, one), x1 = b.Select(use, x, half);
  const Value a2 = b.Select(use_other, a, one), x2 = b.Select(use_other, x, two);
  p.series = SeriesOf(b, a1, x1);
  p.fraction = FractionOf(b, a2, x2);
  const Value log1 = b.Log(x1), log2 = b.Log(x2), next = b.Add(a1, one);
  p.log_series = b.Sub(b.Sub(b.Mul(a1, log1), x1), LogGamma(b, next));
  p.log_fraction = b.Sub(b.Sub(b.Mul(a2, log2), x2), LogGamma(b, a2));
  if (slopes) {
    p.slope_series = b.Sub(log1, Digamma(b, next));
    p.slope_fraction = b.Sub(log2, Digamma(b, a2));
  }
  return p;
}

Value Derivative(FuncBuilder& b, const Dual& d, Value slope) {
  return b.Add(b.Mul(d.value, slope), d.by_a);
}

Value IncompleteGamma(NodeImport& op, Value a, Value x) {
  FuncBuilder& b = op.b();
  const Value positive = Is(b, a, "gt", 0);
  const Value inside = b.Binary(Op::kAnd, Is(b, x, "gt", 0), Is(b, x, "lt", kInfinity));
  const Value has_size = b.Binary(Op::kAnd, positive, Is(b, a, "lt", kInfinity));
  const Value has_value = b.Binary(Op::kAnd, has_size, inside);
  const bool is_sample = op.op() == "RandomGammaGrad", is_gradient = op.op() == "IgammaGradA";
  const Parts p = PartsOf(b, a, x, has_value, is_sample || is_gradient);
  const Value one = Like(b, a, 1), zero = Like(b, a, 0), none = Like(b, a, kNone);
  const Value at_zero = Is(b, x, "eq", 0), at_end = Is(b, x, "eq", kInfinity);
  const Value is_endless = Is(b, a, "eq", kInfinity);
  // Nothing changes any more where one of the two is infinite.  TensorFlow asks for x = 0 first.
  const Value is_flat = b.Binary(Op::kOr, b.Binary(Op::kAnd, is_endless, inside),
                                 b.Binary(Op::kAnd, at_end, has_size));
  const Value slope_at_edge = b.Select(b.Binary(Op::kOr, at_zero, is_flat), zero, none);
  if (is_sample) {  // by a function of a and x that is constant: -(dP/da) / (dP/dx)
    const Value first = b.Neg(b.Mul(b.Div(x, a), Derivative(b, p.series, p.slope_series)));
    const Value second = b.Mul(x, Derivative(b, p.fraction, p.slope_fraction));
    return b.Select(has_value, b.Select(p.by_series, first, second), slope_at_edge);
  }
  const Value lower = b.Exp(p.log_series), upper = b.Exp(p.log_fraction);
  if (is_gradient) {
    const Value first = b.Mul(lower, Derivative(b, p.series, p.slope_series));
    const Value second = b.Neg(b.Mul(upper, Derivative(b, p.fraction, p.slope_fraction)));
    const Value value = b.Select(p.by_series, first, second);
    return b.Select(has_value, value, slope_at_edge);
  }
  Value first = b.Mul(lower, p.series.value), second = b.Mul(upper, p.fraction.value);
  const bool is_upper = op.op() == "Igammac";
  (is_upper ? first : second) = b.Sub(one, is_upper ? first : second);
  const Value value = b.Select(p.by_series, first, second);
  // TensorFlow asks for x = 0 first; an infinite a is as far from x as can be.
  const Value low = is_upper ? one : zero, high = is_upper ? zero : one;
  const Value before = is_upper ? inside : b.Binary(Op::kOr, inside, at_end);
  Value edge = b.Select(b.Binary(Op::kAnd, before, is_endless), low, none);
  edge = b.Select(b.Binary(Op::kAnd, at_end, is_upper ? positive : has_size), high, edge);
  edge = b.Select(is_upper ? b.Binary(Op::kAnd, at_zero, positive) : at_zero, low, edge);
  return b.Select(has_value, value, edge);
}

}  // namespace

// Igamma, Igammac, IgammaGradA of (a, x); RandomGammaGrad of (alpha, sample).
absl::Status ImportGammaFunction(NodeImport& op) {
  FuncBuilder& b = op.b();
  const DType dtype = op.InputDType(0);
  if (dtype != DType::kF16 && dtype != DType::kF32) return op.Refuse(ir::DTypeName(dtype));
  TEKTITE_ASSIGN_OR_RETURN(const auto operands, BroadcastDoubles(op));
  if (!operands.first || !operands.second) return op.Return(Value());
  return op.Return(b.Convert(IncompleteGamma(op, operands.first, operands.second), dtype));
}

}  // namespace tektite::importer
