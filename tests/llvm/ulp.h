// The distance of a result from the true value, in units in the last place of the true value.
#ifndef TEKTITE_TESTS_LLVM_ULP_H_
#define TEKTITE_TESTS_LLVM_ULP_H_

#include <cmath>
#include <limits>

namespace tektite::testing {

// T is the result's type, Wide the reference's.  0 where both are NaN or the same infinity;
// infinity where one is NaN, or where only one is infinite and the other is not at the edge.
template <typename T, typename Wide>
double UlpError(T got, Wide want) {
  if (std::isnan(want) || std::isnan(got)) {
    return std::isnan(want) && std::isnan(got) ? 0 : HUGE_VAL;
  }
  const T rounded = static_cast<T>(want);
  if (got == rounded) {
    if (got == 0 && want == 0 && std::signbit(got) != std::signbit(want)) return HUGE_VAL;
    if (std::isinf(got) || std::isinf(want)) return 0;
  }
  if (std::isinf(want)) return HUGE_VAL;
  constexpr int kDigits = std::numeric_limits<T>::digits;
  constexpr int kLeast = std::numeric_limits<T>::min_exponent - kDigits;
  int exponent = want == 0 ? kLeast : std::ilogb(want) - (kDigits - 1);
  if (exponent < kLeast) exponent = kLeast;
  // An overflow to infinity counts as the value one place above the largest.
  const Wide value =
      std::isinf(got)
          ? std::copysign(std::ldexp(Wide(1), std::numeric_limits<T>::max_exponent), Wide(got))
          : static_cast<Wide>(got);
  return static_cast<double>(std::fabs(std::ldexp(value - want, -exponent)));
}

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_LLVM_ULP_H_
