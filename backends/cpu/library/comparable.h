// Elements as what the compiler compares: half-precision numbers as f32.
#ifndef TEKTITE_BACKENDS_CPU_LIBRARY_COMPARABLE_H_
#define TEKTITE_BACKENDS_CPU_LIBRARY_COMPARABLE_H_

#include <type_traits>

#include "jit/ir/dtype.h"

namespace tektite::cpu {

template <typename T>
constexpr bool kIsNarrowFloat = std::is_same_v<T, ir::Half> || std::is_same_v<T, ir::BFloat16>;

template <typename T>
auto Comparable(T value) {
  if constexpr (kIsNarrowFloat<T>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LIBRARY_COMPARABLE_H_
