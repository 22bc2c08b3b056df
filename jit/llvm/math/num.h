// Num: a float or integer value (scalar or vector) in LLVM IR under construction, with operators.
//
// The math functions are written with it so that they read like the formulas they are:
//
//   Num r = Fma(n, -kLn2Low, Fma(n, -kLn2High, x));
//   return Polynomial(r, {1, 1, 0.5, 1.0 / 6});
//
// A constant takes the type of the Num beside it.  Comparisons are ordered (false on NaN) and give
// a Num of bool.  Nothing is reassociated or contracted.  No LLVM header is needed to use it.
#ifndef TEKTITE_JIT_LLVM_MATH_NUM_H_
#define TEKTITE_JIT_LLVM_MATH_NUM_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "absl/types/span.h"

namespace llvm {
class Value;
}  // namespace llvm

namespace tektite::loop {

struct LowerContext;  // lower_context.h

namespace math {

class Num {
 public:
  Num(LowerContext* context, llvm::Value* value) : context_(context), value_(value) {}
  LowerContext* context() const { return context_; }
  llvm::Value* value() const { return value_; }
  int lanes() const;
  int bits() const;  // of one lane
  bool IsFloat() const;
  bool IsDouble() const { return IsFloat() && bits() == 64; }
  // A constant of this type; integers and bools take the integer `c`.
  Num Constant(double c) const;
  Num ConstantBits(uint64_t bits) const;

 private:
  LowerContext* context_;
  llvm::Value* value_;
};

Num operator+(Num a, Num b);
Num operator-(Num a, Num b);
Num operator*(Num a, Num b);
Num operator/(Num a, Num b);  // floats
Num operator-(Num a);
Num operator&(Num a, Num b);
Num operator|(Num a, Num b);
Num operator^(Num a, Num b);
Num operator!(Num a);         // all bits
Num operator<(Num a, Num b);  // integers: signed
Num operator<=(Num a, Num b);
Num operator>(Num a, Num b);
Num operator>=(Num a, Num b);
Num operator==(Num a, Num b);
Num operator!=(Num a, Num b);  // true on NaN
Num operator<<(Num a, int n);
Num operator>>(Num a, int n);  // arithmetic
Num ShiftRightLogical(Num a, int n);

#define TEKTITE_NUM_OPERATOR(op)                                         \
  inline Num operator op(Num a, double b) { return a op a.Constant(b); } \
  inline Num operator op(double a, Num b) { return b.Constant(a) op b; }
TEKTITE_NUM_OPERATOR(+)
TEKTITE_NUM_OPERATOR(-)
TEKTITE_NUM_OPERATOR(*)
TEKTITE_NUM_OPERATOR(/)
TEKTITE_NUM_OPERATOR(<)
TEKTITE_NUM_OPERATOR(<=)
TEKTITE_NUM_OPERATOR(>)
TEKTITE_NUM_OPERATOR(>=)
TEKTITE_NUM_OPERATOR(==)
TEKTITE_NUM_OPERATOR(!=)
#undef TEKTITE_NUM_OPERATOR

Num Fma(Num a, Num b, Num c);
inline Num Fma(Num a, double b, Num c) { return Fma(a, a.Constant(b), c); }
inline Num Fma(Num a, Num b, double c) { return Fma(a, b, a.Constant(c)); }
inline Num Fma(Num a, double b, double c) { return Fma(a, a.Constant(b), a.Constant(c)); }
Num Select(Num condition, Num a, Num b);
inline Num Select(Num condition, Num a, double b) { return Select(condition, a, a.Constant(b)); }
inline Num Select(Num condition, double a, Num b) { return Select(condition, b.Constant(a), b); }

// x limited to the bound; NaN stays NaN.
Num AtMost(Num x, double bound);
Num AtLeast(Num x, double bound);
Num IsNan(Num x);
Num Any(Num condition);  // of its lanes: one bool
Num Abs(Num x);
Num CopySign(Num magnitude, Num sign);
Num Sqrt(Num x);
Num Trunc(Num x);
Num RoundEven(Num x);
Num AsInt(Num x);                                         // the float's bits
Num AsFloat(Num x);                                       // and back
Num ToFloat(Num x);                                       // a signed integer, to a float as wide
Num ToDouble(Num x);                                      // f32 to f64
Num ToSingle(Num x);                                      // f64 to f32
Num Lookup(absl::Span<const double> table, Num indices);  // a gather from a constant table
// The same from a table of as many entries as x has lanes; only the last bits of an index count.
// Where ScalesInOneInstruction.
Num LookupInRegister(absl::Span<const double> table, Num indices);

// coefficients[0] + coefficients[1] x + ..., by Horner's rule with fma.
Num Polynomial(Num x, absl::Span<const double> coefficients);
inline Num Polynomial(Num x, std::initializer_list<double> coefficients) {
  return Polynomial(x, absl::MakeConstSpan(coefficients.begin(), coefficients.size()));
}
// The same in pairs of terms, with Horner's rule in x^2 (`square`): a chain half as long.
Num PolynomialByPairs(Num x, Num square, absl::Span<const double> coefficients);

// ---- control: the builder stands in another basic block afterwards ----

// Select(condition, slow(), usual) for each value; slow() runs only when some lane needs it, out of
// line.
std::vector<Num> Rarely(Num condition, std::vector<Num> usual,
                        const std::function<std::vector<Num>()>& slow);
// Repeats state = body(state) while any lane of more(state) holds.
std::vector<Num> While(std::vector<Num> state,
                       const std::function<Num(const std::vector<Num>&)>& more,
                       const std::function<std::vector<Num>(const std::vector<Num>&)>& body);
// ScaleByPowerOfTwo of this type is one instruction, which takes any n, down to an integer: the
// result is 0, infinite or NaN where n or x says so.
bool ScalesInOneInstruction(Num x);
// x limited to [-bound, bound], one instruction where scaling is; what NaN becomes is open.
Num WithMagnitudeAtMost(Num x, double bound);
// x times 2^n for n integral (a float): rounded once, also when the result is denormal or too
// large. n must be within +-2 times the exponent range.
Num ScaleByPowerOfTwo(Num x, Num n);

}  // namespace math
}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_MATH_NUM_H_
