// Arithmetic on sizes, offsets and counts that 64 bits may not hold.
// Example(int64_t rows, int64_t row_bytes, bool* fits):
//   const int64_t bytes = SaturatingMul(rows, row_bytes);
//   *fits = !IsSaturated(bytes);
//
// Why: sizes come from a user's tensors and graphs.  A product that wraps looks like a small buffer
// to the code that allocates it, and like a large one to the code that fills it.
//
// A result that does not fit is kMostInt64 or kLeastInt64, and so is every later result that
// depends on it (but for a minimum with something small), so that one test at the end is enough.
// Limits: the two extreme values themselves count as results that do not fit.
#ifndef TEKTITE_JIT_BASE_SATURATING_H_
#define TEKTITE_JIT_BASE_SATURATING_H_

#include <cstdint>
#include <limits>

namespace tektite {

inline constexpr int64_t kMostInt64 = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kLeastInt64 = std::numeric_limits<int64_t>::min();

constexpr bool IsSaturated(int64_t value) { return value == kMostInt64 || value == kLeastInt64; }

constexpr int64_t SaturatingAdd(int64_t a, int64_t b) {
  if (IsSaturated(a)) return a;
  if (IsSaturated(b)) return b;
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? kLeastInt64 : kMostInt64;
  return sum;
}

constexpr int64_t SaturatingSub(int64_t a, int64_t b) {
  if (IsSaturated(a)) return a;
  if (IsSaturated(b)) return b < 0 ? kMostInt64 : kLeastInt64;
  int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return a < 0 ? kLeastInt64 : kMostInt64;
  return difference;
}

// Zero times a result that does not fit does not fit either.
constexpr int64_t SaturatingMul(int64_t a, int64_t b) {
  const int64_t limit = (a < 0) != (b < 0) ? kLeastInt64 : kMostInt64;
  if (IsSaturated(a) || IsSaturated(b)) return limit;
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? limit : product;
}

}  // namespace tektite
#endif  // TEKTITE_JIT_BASE_SATURATING_H_
