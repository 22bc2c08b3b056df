// Division that rounds up, of sizes and counts (at least 0, by at least 1).
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
