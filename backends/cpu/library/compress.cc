#include "backends/cpu/library/compress.h"

#include <immintrin.h>

#include <array>
#include <cstring>

namespace tektite::cpu {
namespace {

#define TEKTITE_AVX2 __attribute__((target("avx2,popcnt,bmi")))

// How to permute eight 32-bit lanes so that those of a bit mask come first.
constexpr std::array<std::array<uint8_t, 8>, 256> FirstLanes() {
  std::array<std::array<uint8_t, 8>, 256> table{};
  for (int mask = 0; mask < 256; ++mask) {
    int at = 0;
    for (int lane = 0; lane < 8; ++lane) {
      if ((mask >> lane & 1) != 0) table[mask][at++] = static_cast<uint8_t>(lane);
    }
  }
  return table;
}
// The same for four 64-bit lanes, of two 32-bit lanes each.
constexpr std::array<std::array<uint8_t, 8>, 16> FirstPairs() {
  std::array<std::array<uint8_t, 8>, 16> table{};
  for (int mask = 0; mask < 16; ++mask) {
    int at = 0;
    for (int lane = 0; lane < 4; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      table[mask][at++] = static_cast<uint8_t>(2 * lane);
      table[mask][at++] = static_cast<uint8_t>(2 * lane + 1);
    }
  }
  return table;
}
constexpr auto kFirstLanes = FirstLanes();
constexpr auto kFirstPairs = FirstPairs();
template <typename T>
const std::array<uint8_t, 8>& OrderOf(uint32_t mask) {
  if constexpr (sizeof(T) == 8) {
    return kFirstPairs[mask];
  } else {
    return kFirstLanes[mask];
  }
}

// ---- one element at a time: what is left over ---------------------------------

struct PlacesFrom {
  int64_t base;
  int64_t operator()(int64_t i) const { return base + i; }
};
template <typename T>
struct ElementsOf {
  const T* from;
  T operator()(int64_t i) const { return from[i]; }
};

template <typename T, typename Source>
void CompressRest(const bool* mask, int64_t i, int64_t n, const Source& source, T* to, int64_t at) {
  for (; i < n; ++i) {
    if (mask[i]) to[at++] = source(i);
  }
}

// ---- a vector at a time ---------------------------------------------------------

TEKTITE_AVX2 inline __m256i VectorAt(PlacesFrom source, int64_t i) {
  return _mm256_add_epi64(_mm256_set1_epi64x(source.base + i), _mm256_set_epi64x(3, 2, 1, 0));
}
template <typename T>
TEKTITE_AVX2 inline __m256i VectorAt(ElementsOf<T> source, int64_t i) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source.from + i));
}

template <typename T, typename Source>
TEKTITE_AVX2 void Compress(const bool* mask, int64_t n, const Source& source, T* to, int64_t room) {
  constexpr int kLanes = 32 / sizeof(T);
  int64_t at = 0, i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask + i));
    const __m256i none = _mm256_cmpeq_epi8(bytes, _mm256_setzero_si256());
    uint32_t trues = ~static_cast<uint32_t>(_mm256_movemask_epi8(none));
    if (trues == 0) continue;
    for (int k = 0; k < 32; k += kLanes, trues >>= kLanes) {
      const uint32_t lanes = trues & ((1u << kLanes) - 1);
      const int count = _mm_popcnt_u32(lanes);
      if (at + kLanes > room) {
        CompressRest(mask, i + k, i + k + kLanes, source, to, at);
      } else {
        int64_t packed;
        std::memcpy(&packed, OrderOf<T>(lanes).data(), sizeof(packed));
        const __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(packed));
        const __m256i first = _mm256_permutevar8x32_epi32(VectorAt(source, i + k), order);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), first);
      }
      at += count;
    }
  }
  CompressRest(mask, i, n, source, to, at);
}

}  // namespace

int64_t CountTrue(const bool* mask, int64_t n) {
  __m128i sums = _mm_setzero_si128();
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(mask + i));
    sums = _mm_add_epi64(sums, _mm_sad_epu8(bytes, _mm_setzero_si128()));
  }
  int64_t count = _mm_cvtsi128_si64(sums) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums));
  for (; i < n; ++i) count += mask[i] ? 1 : 0;
  return count;
}

void CompressPlaces(const bool* mask, int64_t n, int64_t base, int64_t* to, int64_t room) {
  Compress(mask, n, PlacesFrom{base}, to, room);
}
void CompressElements(const bool* mask, int64_t n, const uint32_t* from, uint32_t* to,
                      int64_t room) {
  Compress(mask, n, ElementsOf<uint32_t>{from}, to, room);
}
void CompressElements(const bool* mask, int64_t n, const uint64_t* from, uint64_t* to,
                      int64_t room) {
  Compress(mask, n, ElementsOf<uint64_t>{from}, to, room);
}

}  // namespace tektite::cpu
