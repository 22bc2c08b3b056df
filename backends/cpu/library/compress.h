// Moving together what a mask is true for.
//
//   const int64_t count = CountTrue(mask, n);
//   CompressPlaces(mask, n, 0, places, count);    // the numbers of the trues
//   CompressElements(mask, n, x, rows, count);    // the elements there; 4 or 8 bytes each
//
// Why: a branch for each element is mispredicted as often as the mask is random, and a store for
// each element costs more than the rest.  Here a table says how to permute a vector so that its
// chosen elements come first; a whole vector is stored where there is room for it, and the elements
// behind them are overwritten by the next store.  AVX2 also where there is AVX-512: with its
// compress instruction a million places took 0.34 instead of 0.23 ms at one in two, 0.47 instead of
// 0.27 at 99 of 100 (one Zen 5 core), since each of its stores crosses a cache line.
// Other machines store each element, and move on behind those that the mask is true for
// (compress_plain.cc).
#ifndef TEKTITE_BACKENDS_CPU_LIBRARY_COMPRESS_H_
#define TEKTITE_BACKENDS_CPU_LIBRARY_COMPRESS_H_

#include <cstdint>

namespace tektite::cpu {

int64_t CountTrue(const bool* mask, int64_t n);

// Writes base + i, or element i, for every true mask[i]. Nothing behind to[room - 1] is touched,
// where all of them must fit.
void CompressPlaces(const bool* mask, int64_t n, int64_t base, int64_t* to, int64_t room);
void CompressElements(const bool* mask, int64_t n, const uint32_t* from, uint32_t* to,
                      int64_t room);
void CompressElements(const bool* mask, int64_t n, const uint64_t* from, uint64_t* to,
                      int64_t room);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_LIBRARY_COMPRESS_H_
