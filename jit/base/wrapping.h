// Arithmetic modulo 2^64, as a graph's own integers have it.
// Example(int64_t factor, int64_t times, bool* cancels):
//   *cancels = WrappingAdd(times, WrappingMul(factor, times)) == 0;
//
// Why: C++ leaves the overflow of signed integers undefined, and constants come from a user's graph.
// Limits: for sizes and counts, which must not wrap, there is saturating.h.
#ifndef TEKTITE_JIT_BASE_WRAPPING_H_
#define TEKTITE_JIT_BASE_WRAPPING_H_

#include <cstdint>

namespace tektite {

constexpr int64_t WrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

constexpr int64_t WrappingMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace tektite
#endif  // TEKTITE_JIT_BASE_WRAPPING_H_
