// Reduction of an angle by multiples of pi/2: Cody and Waite's with fma for |x| < 2^30, Payne and
// Hanek's beyond ("Radian reduction for trigonometric functions", SIGNUM 18, 1983).
#include <cmath>

#include "jit/llvm/math/math.h"
#include "jit/llvm/math/trigonometric.h"

namespace tektite::loop::math {

namespace {

constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
// pi / 2 in three parts.
constexpr double kFirst = 1.5707963267948966, kSecond = 6.123233995736766e-17,
                 kThird = -1.4973849048591698e-33;

// The first 1280 bits of 2 / pi after the point.
constexpr uint64_t kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
};

// Bits [from, from + 53) of 2 / pi after the point, as an integer; zeros before the point and after
// the table's end.
uint64_t BitsAt(int from) {
  uint64_t value = 0;
  for (int i = from; i < from + 53; ++i) {
    const bool known = i >= 0 && i < 64 * static_cast<int>(sizeof(kTwoOverPi) / sizeof(uint64_t));
    value = value * 2 + (known ? (kTwoOverPi[i / 64] >> (63 - i % 64)) & 1 : 0);
  }
  return value;
}

// Y_k = 2^(16 k - 52) (2 / pi) modulo 4 for k = 0, 1, ..., as the sum of four doubles of 53 bits
// each. Part `part` of all k.
std::vector<double> Table(int part, int count) {
  std::vector<double> table;
  for (int k = 0; k < count; ++k) {
    const int from = 16 * k - 52 - 2 + 53 * part;  // weight 2^1 before scaling stands first
    table.push_back(std::ldexp(static_cast<double>(BitsAt(from)), 1 - 53 * part - 52));
  }
  return table;
}

struct Sum {
  Num high;
  Num low;
};

Sum TwoSum(Num a, Num b) {
  const Num s = a + b;
  const Num t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}

Num Modulo4(Num x) { return x - RoundEven(x * 0.25) * 4; }

// |x| >= 2^30 (the values of other lanes are not used).  With |x| = m 2^(16 k - 52), m an integer
// below 2^68: x (2 / pi) mod 4 = m Y_k mod 4.
AngleReduction PayneHanek(Num x, double most) {
  const int count = std::ilogb(most) / 16 + 1;
  const Num a = Abs(x);
  const Num exponent = ShiftRightLogical(AsInt(a), 52) - 1023;
  const Num raw = exponent >> 4;
  const Num bounded = Select(raw < 0, 0, Select(raw > count - 1, count - 1, raw));
  const Num m = a * AsFloat((bounded * bounded.Constant(-16) + (52 + 1023)) << 52);
  std::vector<Num> product, rest;
  for (int part = 0; part < 4; ++part) {
    const Num y = Lookup(Table(part, count), bounded);
    product.push_back(m * y);
    rest.push_back(Fma(m, y, -product.back()));
  }
  // From the largest to the smallest, keeping what each addition loses.
  Sum s = TwoSum(Modulo4(product[0]), Modulo4(rest[0]));
  Num low = s.low;
  for (Num term : {Modulo4(product[1]), rest[1], product[2]}) {
    s = TwoSum(s.high, term);
    low = low + s.low;
  }
  low = low + (rest[2] + product[3]);
  s = TwoSum(s.high, low);
  const Num n = RoundEven(s.high);
  s = TwoSum(s.high - n, s.low);
  const Num high = s.high * kFirst;
  const Num tail = Fma(s.high, kFirst, -high) + Fma(s.high, kSecond, s.low * kFirst);
  const Num negative = x < 0;
  const Num quadrant = AsInt(n + kMagic);
  return {Select(negative, -quadrant, quadrant), Select(negative, -high, high),
          Select(negative, -tail, tail)};
}

}  // namespace

AngleReduction ReduceAngle(Num x, double most) {
  const Num shifted = Fma(x, 0.63661977236758134, x.Constant(kMagic));
  const Num n = shifted - kMagic;
  // Exact: every term is a multiple of 2^-53 and the difference is below 1.
  const Num first = Fma(n, -kFirst, x);
  const Num high = Fma(n, -kSecond, first);
  const Num low = Fma(n, -kThird, Fma(n, -kSecond, first - high));
  const Num quadrant = AsInt(shifted);
  const Num large = !(Abs(x) < 1073741824.0);
  const Num finite = Select(Abs(x) < HUGE_VAL, x, 0);
  const std::vector<Num> r = Rarely(large, {quadrant, high, low}, [&] {
    const AngleReduction exact = PayneHanek(finite, most);
    const Num bad = !(Abs(x) < HUGE_VAL);
    return std::vector<Num>{exact.quadrant, Select(bad, std::nan(""), exact.high), exact.low};
  });
  return {r[0], r[1], r[2]};
}

}  // namespace tektite::loop::math
