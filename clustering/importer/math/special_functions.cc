// Special functions of single-precision numbers, computed in double precision and rounded once.
//
// Why so: in double precision plain formulas have errors far below what a float can tell apart,
// also beside the zeros of a function, and a vector of them is still faster than TensorFlow's
// scalar code.  docs/numbers.md has the measured errors.
//
// Limits: f16 and f32; double precision stays TensorFlow's.  beta_function.cc,
// gamma_functions.cc and zeta_functions.cc have those of several numbers.
#include <cmath>
#include <initializer_list>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "clustering/importer/import_table.h"
#include "clustering/importer/math/special_functions.h"

namespace tektite::importer {
namespace {

Value PlusNumber(FuncBuilder& b, Value x, double value) { return b.Add(x, Like(b, x, value)); }
Value TimesNumber(FuncBuilder& b, Value x, double value) { return b.Mul(x, Like(b, x, value)); }

// c[0] + c[1] x + c[2] x^2 + ...
Value Polynomial(FuncBuilder& b, Value x, absl::Span<const double> c) {
  Value sum = Like(b, x, c.back());
  for (size_t i = c.size() - 1; i-- > 0;) sum = PlusNumber(b, b.Mul(sum, x), c[i]);
  return sum;
}

// x less the nearest integer, which is exact: sin(pi x) and the like of it have no error of pi * x.
Value FromNearest(FuncBuilder& b, Value x) { return b.Sub(x, b.Unary(Op::kRoundEven, x)); }

// C. Lanczos, "A precision approximation of the gamma function" (1964), with g = 7 and nine terms,
// for x >= 1/2.
Value LogGammaOfPositive(FuncBuilder& b, Value x) {
  constexpr double kG = 7.5, kHalfLogTwoPi = 0.91893853320467274178;
  constexpr double kTerms[] = {676.5203681218851,     -1259.1392167224028,  771.32342877765313,
                               -176.61502916214059,   12.507343278686905,   -0.13857109526572012,
                               9.9843695780195716e-6, 1.5056327351493116e-7};
  Value z = PlusNumber(b, x, -1), sum = Like(b, x, 0.99999999999980993);
  double place = 1;
  for (const double term : kTerms) {
    sum = b.Add(sum, b.Div(Like(b, x, term), PlusNumber(b, z, place)));
    place += 1;
  }
  Value base = PlusNumber(b, z, kG);
  Value power = b.Sub(b.Mul(PlusNumber(b, z, 0.5), b.Log(base)), base);
  return b.Add(PlusNumber(b, power, kHalfLogTwoPi), b.Log(sum));
}

}  // namespace

// Below 1/2 by Euler's reflection: gamma(x) gamma(1 - x) = pi / sin(pi x).
Value LogGamma(FuncBuilder& b, Value x) {
  Value is_small = Is(b, x, "lt", 0.5);
  Value positive = LogGammaOfPositive(b, b.Select(is_small, b.Sub(Like(b, x, 1), x), x));
  Value sine = b.Abs(b.Unary(Op::kSin, TimesNumber(b, FromNearest(b, x), M_PI)));
  Value mirrored = b.Sub(b.Log(b.Div(Like(b, x, M_PI), sine)), positive);
  Value result = b.Select(is_small, mirrored, positive);
  return b.Select(Is(b, b.Abs(x), "eq", kInfinity), Like(b, x, kInfinity), result);
}

namespace {

// Numbers below 10 are moved there, one by one, and the asymptotic series has the rest (M.
// Abramowitz and I. A. Stegun, "Handbook of mathematical functions", 6.3.5 and 6.3.18).
Value DigammaOfPositive(FuncBuilder& b, Value x) {
  constexpr int kLeast = 10;
  // The Bernoulli numbers B(2n) / 2n.
  constexpr double kSeries[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                1.0 / 132, -691.0 / 32760, 1.0 / 12};
  Value moved = Like(b, x, 0);
  for (int i = 0; i < kLeast; ++i) {
    Value is_low = Is(b, x, "lt", kLeast);
    moved = b.Select(is_low, b.Add(moved, b.Div(Like(b, x, 1), x)), moved);
    x = b.Select(is_low, PlusNumber(b, x, 1), x);
  }
  Value inverse = b.Div(Like(b, x, 1), x), square = b.Mul(inverse, inverse);
  Value series = b.Mul(square, Polynomial(b, square, kSeries));
  Value rest = b.Sub(b.Sub(b.Log(x), TimesNumber(b, inverse, 0.5)), series);
  return b.Sub(rest, moved);
}

}  // namespace

Value Digamma(FuncBuilder& b, Value x) {
  Value is_negative = Is(b, x, "le", 0);
  Value positive = DigammaOfPositive(b, b.Select(is_negative, b.Sub(Like(b, x, 1), x), x));
  Value near = FromNearest(b, x);
  Value tangent = b.Unary(Op::kTan, TimesNumber(b, near, M_PI));
  Value mirrored = b.Sub(positive, b.Div(Like(b, x, M_PI), tangent));
  // There is no value at 0 and the integers below.
  mirrored = b.Select(Is(b, near, "eq", 0), Like(b, x, kNone), mirrored);
  return b.Select(is_negative, mirrored, positive);
}

namespace {

// The normal distribution's quantile of 1/2 + q, where the nearer end, 0 or 1, is `tail` away.
// Rational approximations of P. J. Acklam, "An algorithm for computing the inverse normal
// cumulative distribution function" (2003), with a relative error of 1.15e-9.
Value NormalQuantile(FuncBuilder& b, Value q, Value tail) {
  constexpr double kTail = 0.02425;
  constexpr double kTop[] = {2.506628277459239e+00, -3.066479806614716e+01,
                             1.383577518672690e+02, -2.759285104469687e+02,
                             2.209460984245205e+02, -3.969683028665376e+01};
  constexpr double kBottom[] = {1,
                                -1.328068155288572e+01,
                                6.680131188771972e+01,
                                -1.556989798598866e+02,
                                1.615858368580409e+02,
                                -5.447609879822406e+01};
  constexpr double kTailTop[] = {2.938163982698783e+00,  4.374664141464968e+00,
                                 -2.549732539343734e+00, -2.400758277161838e+00,
                                 -3.223964580411365e-01, -7.784894002430293e-03};
  constexpr double kTailBottom[] = {1, 3.754408661907416e+00, 2.445134137142996e+00,
                                    3.224671290700398e-01, 7.784695709041462e-03};
  Value square = b.Mul(q, q);
  Value central = b.Mul(q, b.Div(Polynomial(b, square, kTop), Polynomial(b, square, kBottom)));
  Value root = b.Sqrt(TimesNumber(b, b.Log(tail), -2));
  Value outer = b.Div(Polynomial(b, root, kTailTop), Polynomial(b, root, kTailBottom));
  outer = b.Select(Is(b, tail, "eq", 0), Like(b, tail, -kInfinity), outer);
  outer = b.Select(Is(b, q, "gt", 0), b.Neg(outer), outer);
  outer = b.Select(Is(b, tail, "ge", 0), outer, Like(b, tail, kNone));
  return b.Select(Is(b, tail, "lt", kTail), outer, central);
}

Value Ndtri(FuncBuilder& b, Value p) {
  return NormalQuantile(b, PlusNumber(b, p, -0.5), b.Min(p, b.Sub(Like(b, p, 1), p)));
}

// sqrt(1/2) times the quantile of (x + 1) / 2.
Value Erfinv(FuncBuilder& b, Value x) {
  Value tail = TimesNumber(b, b.Sub(Like(b, x, 1), b.Abs(x)), 0.5);
  Value y = TimesNumber(b, NormalQuantile(b, TimesNumber(b, x, 0.5), tail), std::sqrt(0.5));
  return PlusNumber(b, y, 0);  // 0 of -0, as TensorFlow's
}

// Modified Bessel functions times e^-|x|.  Up to 8 a polynomial in x / 4 - 1, above it one in
// 16 / x - 1 over sqrt(x); both interpolate the integral of e^(x (cos t - 1)) cos(n t) at
// Chebyshev's points with relative errors below 2e-10.
struct Bessel {
  absl::Span<const double> near, far;
};

Value BesselOfSize(FuncBuilder& b, Value size, const Bessel& bessel) {
  Value is_near = Is(b, size, "le", 8);
  Value near = Polynomial(b, PlusNumber(b, TimesNumber(b, size, 0.25), -1), bessel.near);
  Value far = Polynomial(b, PlusNumber(b, b.Div(Like(b, size, 16), size), -1), bessel.far);
  return b.Select(is_near, near, b.Mul(far, b.Rsqrt(size)));
}

constexpr double kI0Near[] = {
    0.20700192122398717,   -0.11300432654348772,    0.094515628425110132,   -0.089043466456502587,
    0.087343424583045545,  -0.084962840761374211,   0.079275044912764409,   -0.069546514162552614,
    0.05677881485318767,   -0.042957250610632096,   0.030168285914605852,   -0.019775351878903724,
    0.011991198681653341,  -0.0066059360521571334,  0.0035544406926992832,  -0.0020461394381467873,
    0.0009352327450306803, -0.00020636302159858863, 0.00010271902271366101, -0.00013592012795615521,
    4.9179867559431316e-05};
constexpr double kI0Far[] = {
    0.40217650944500832,    0.0033605522271075686,  0.00013621634810307505,
    1.1139924003791928e-05, 1.4801668733326242e-06, 3.0712518007273769e-07,
    1.0222956832980126e-07, 3.1734682208953556e-08, 3.2134416605256819e-09};
// I1's near part is divided by x, so that it has a sign and a zero of its own.
constexpr double kI1Near[] = {
    0.044687709875609022,    -0.061124337990074384,   0.068057599896869311,
    -0.068482609105440906,   0.063767404637963251,    -0.055279976795882924,
    0.044674552717516317,    -0.033671970575754058,   0.023686213088902966,
    -0.015567987658056927,   0.009582902441584832,    -0.0055453096488252435,
    0.0030091920635007307,   -0.0015172278695828297,  0.00073759293858529815,
    -0.00036844717686069112, 0.00015715453933015601,  -4.0772575076331521e-05,
    1.7599448082147631e-05,  -1.7454771568744231e-05, 5.9841821926359456e-06};
constexpr double kI1Far[] = {
    0.38939845902587245,     -0.0097495774411334654,  -0.00021923605339074727,
    -1.5035390366448206e-05, -1.8310212331368358e-06, -3.5819535675803843e-07,
    -1.1423535242465704e-07, -3.5904643041722843e-08, -4.2368913268145802e-09};

Value BesselI0e(FuncBuilder& b, Value x) {
  Value size = b.Abs(x);
  Value y = BesselOfSize(b, size, {kI0Near, kI0Far});
  return b.Select(Is(b, size, "eq", kInfinity), Like(b, x, 0), y);
}

Value BesselI1e(FuncBuilder& b, Value x) {
  Value size = b.Abs(x);
  Value y = BesselOfSize(b, size, {kI1Near, kI1Far});
  y = b.Select(Is(b, size, "le", 8), b.Mul(size, y), y);
  y = b.Select(Is(b, size, "eq", kInfinity), Like(b, x, 0), y);
  return b.Select(Is(b, x, "lt", 0), b.Neg(y), y);
}

using Function = Value (*)(FuncBuilder& b, Value x);
const absl::flat_hash_map<absl::string_view, Function>& Functions() {
  static const auto& functions = *new absl::flat_hash_map<absl::string_view, Function>({
      {"BesselI0e", BesselI0e},
      {"BesselI1e", BesselI1e},
      {"Digamma", Digamma},
      {"Erfinv", Erfinv},
      {"Lgamma", LogGamma},
      {"Ndtri", Ndtri},
  });
  return functions;
}

}  // namespace

absl::StatusOr<std::pair<Value, Value>> BroadcastDoubles(NodeImport& op) {
  FuncBuilder& b = op.b();
  Value first = op.Input(0), second = op.Input(1);
  if (!first || !second) return std::pair(Value(), Value());
  first = b.Convert(first, DType::kF64);
  second = b.Convert(second, DType::kF64);
  if (first.shape() != second.shape()) {
    const Value sum = b.Add(first, second);  // of the shape that both are broadcast to
    if (!sum) return std::pair(Value(), Value());
    first = b.BroadcastTo(first, sum.shape().dims());
    second = b.BroadcastTo(second, sum.shape().dims());
  }
  return std::pair(first, second);
}

absl::Status ImportSpecialFunction(NodeImport& op) {
  FuncBuilder& b = op.b();
  const auto function = Functions().find(op.op());
  const DType dtype = op.InputDType(0);
  if (function == Functions().end()) return op.Refuse("no such function");
  if (dtype != DType::kF16 && dtype != DType::kF32) return op.Refuse(ir::DTypeName(dtype));
  Value x = b.Convert(op.Input(0), DType::kF64);
  if (!x) return op.Return(x);
  return op.Return(b.Convert(function->second(b, x), dtype));
}

}  // namespace tektite::importer
