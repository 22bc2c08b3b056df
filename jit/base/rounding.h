// Division that rounds up, of sizes and counts.
//
//   CeilDiv(10, 4)    // 3
//   RoundUp(10, 4)    // 12
//
// Limits: counts of at least 0, units of at least 1; CeilDiv saturates (jit/base/saturating.h).
#ifndef TEKTITE_JIT_BASE_ROUNDING_H_
#define TEKTITE_JIT_BASE_ROUNDING_H_

#include <cstdint>

#include "jit/base/saturating.h"

namespace tektite {

constexpr int64_t CeilDiv(int64_t count, int64_t unit) {
  return SaturatingAdd(count, unit - 1) / unit;
}

// The least multiple of `unit` that is not less than `count`, which must be below 2^62.
constexpr int64_t RoundUp(int64_t count, int64_t unit) { return CeilDiv(count, unit) * unit; }

}  // namespace tektite
#endif  // TEKTITE_JIT_BASE_ROUNDING_H_
