// Hurwitz's zeta function and the polygamma functions of single-precision numbers, computed in
// double precision and rounded once (special_functions.cc says why).
//
// Limits: f16 and f32.  For numbers q below 0, where the sum has more terms the farther they are, a
// check sends the call to TensorFlow.
#include <cmath>

#include "clustering/importer/import_table.h"
#include "clustering/importer/math/special_functions.h"

namespace tektite::importer {
namespace {

// The sum of (q + k)^-x over all k >= 0, for x > 1 and q > 0: some terms, and the rest by Euler and
// Maclaurin (M. Abramowitz and I. A. Stegun, "Handbook of mathematical functions", 23.1.30).
Value SumOfPowers(FuncBuilder& b, Value x, Value q) {
  constexpr int kTerms = 10;
  // The Bernoulli numbers B(2j) / (2j)!.
  constexpr double kSeries[] = {1.0 / 12,           -1.0 / 720,     1.0 / 30240,
                                -1.0 / 1209600,     1.0 / 47900160, -691.0 / 1307674368000.0,
                                1.0 / 74724249600.0};
  Value minus_x = b.Neg(x), sum = b.FullLike(q, 0);
  for (int k = 0; k < kTerms; ++k) {
    sum = b.Add(sum, b.Binary(Op::kPow, b.Add(q, b.FullLike(q, k)), minus_x));
  }
  Value from = b.Add(q, b.FullLike(q, kTerms));
  Value first = b.Binary(Op::kPow, from, minus_x);
  Value one = b.FullLike(x, 1);
  Value rest = b.Add(b.Mul(first, b.FullLike(x, 0.5)), b.Div(b.Mul(first, from), b.Sub(x, one)));
  // x (x + 1) ... (x + 2j - 2) / from^(2j - 1)
  Value inverse = b.Div(one, from), rising = b.Mul(x, inverse);
  double next = 1;
  for (const double coefficient : kSeries) {
    rest = b.Add(rest, b.Mul(b.Mul(first, rising), b.FullLike(x, coefficient)));
    for (int i = 0; i < 2; ++i) {
      rising = b.Mul(rising, b.Mul(b.Add(x, b.FullLike(x, next)), inverse));
      next += 1;
    }
  }
  // Where all powers are 0, so is what is 0 times an infinite product.
  return b.Add(sum, b.Select(Is(b, first, "eq", 0), b.FullLike(rest, 0), rest));
}

// With no value below 1 and a pole at it.
Value HurwitzZeta(FuncBuilder& b, Value x, Value q) {
  Value result = SumOfPowers(b, x, q);
  result = b.Select(Is(b, x, "eq", 1), b.FullLike(x, kInfinity), result);
  return b.Select(Is(b, x, "lt", 1), b.FullLike(x, kNone), result);
}

// (-1)^(n + 1) n! zeta(n + 1, x), for whole n.
Value PolygammaOf(FuncBuilder& b, Value n, Value x) {
  Value next = b.Add(n, b.FullLike(n, 1));
  Value size = b.Mul(b.Exp(LogGamma(b, next)), HurwitzZeta(b, next, x));
  Value half = b.Mul(n, b.FullLike(n, 0.5));
  // Infinity counts as odd: TensorFlow's sign is a power of -1.
  Value is_even = b.Binary(Op::kAnd, b.Compare(half, b.Unary(Op::kFloor, half), "eq"),
                           Is(b, n, "lt", kInfinity));
  Value result = b.Select(is_even, b.Neg(size), size);
  result = b.Select(Is(b, n, "eq", 0), Digamma(b, x), result);
  Value is_whole = b.Compare(n, b.Unary(Op::kFloor, n), "eq");
  return b.Select(is_whole, result, b.FullLike(result, kNone));
}

}  // namespace

// Zeta(x, q), Polygamma(n, x).
absl::Status ImportZetaFunction(NodeImport& op) {
  FuncBuilder& b = op.b();
  const DType dtype = op.InputDType(0);
  if (dtype != DType::kF16 && dtype != DType::kF32) return op.Refuse(ir::DTypeName(dtype));
  TEKTITE_ASSIGN_OR_RETURN(const auto operands, BroadcastDoubles(op));
  const auto& [first, second] = operands;
  if (!first || !second) return op.Return(Value());
  op.Check(b.Compare(second, b.FullLike(second, 0), "gt"));
  const bool is_zeta = op.op() == "Zeta";
  const Value result = is_zeta ? HurwitzZeta(b, first, second) : PolygammaOf(b, first, second);
  return op.Return(b.Convert(result, dtype));
}

}  // namespace tektite::importer
