// rem of floats: C's fmod, exact.
//
// Long division with digits of the mantissa's width: while |r| >= |y|, subtract from r the integral
// multiple q ys of a scaled divisor ys = |y| 2^s.  q < 2^mantissa and the difference is a multiple
// of ys's last place below ys, so that fma forms it exactly; a quotient rounded up is mended by one
// addition.  One trip for operands of like size, and as many as the exponents' distance needs.
#include <cmath>

#include "jit/llvm/math/math.h"

namespace tektite::loop::math {

Num Remainder(Num x, Num y) {
  const bool f64 = x.IsDouble();
  const int mantissa = f64 ? 52 : 23;
  const Num a = Abs(x);
  const Num b = Abs(y);
  const Num valid = (a < HUGE_VAL) & (b > 0);
  // Lanes without a finite answer must not keep the loop going.
  const Num start = Select(valid & (b < HUGE_VAL), a, 0);
  const Num divisor = Select(b > 0, b, 1);
  // The exponent of a denormal, too, so that no digit gets longer than the mantissa.
  const Num denormal = divisor < (f64 ? 2.2250738585072014e-308 : 1.1754943508222875e-38);
  const Num normal = Select(denormal, divisor * (f64 ? 0x1p54 : 0x1p25), divisor);
  const Num exponent = AsInt(normal) >> mantissa;
  const Num divisor_exponent = Select(denormal, exponent - (f64 ? 54 : 25), exponent);
  const std::vector<Num> end = While(
      {start}, [&](const std::vector<Num>& s) { return s[0] >= divisor; },
      [&](const std::vector<Num>& s) {
        const Num r = s[0];
        const Num shift = (AsInt(r) >> mantissa) - divisor_exponent - (mantissa - 1);
        const Num positive = Select(shift > 0, shift, 0);
        const Num bias = shift.Constant(f64 ? 1023 : 127);
        const Num half = positive >> 1;  // two factors: 2^shift itself may not be representable
        const Num scaled = divisor * AsFloat((half + bias) << mantissa) *
                           AsFloat((positive - half + bias) << mantissa);
        const Num q = Trunc(r / scaled);
        const Num difference = Fma(-q, scaled, r);
        const Num mended = Select(difference < 0, difference + scaled, difference);
        return std::vector<Num>{Select(r >= divisor, mended, r)};
      });
  const Num result = CopySign(end[0], x);
  return Select(valid & !IsNan(y), Select(b == HUGE_VAL, x, result), std::nan(""));
}

}  // namespace tektite::loop::math
