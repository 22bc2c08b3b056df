// Moving together what a mask is true for, on machines of any kind: no branch for each element.
#include "backends/cpu/library/compress.h"

namespace tektite::cpu {
namespace {

template <typename T, typename Source>
void Compress(const bool* mask, int64_t n, const Source& source, T* to, int64_t room) {
  for (int64_t i = 0, at = 0; i < n && at < room; ++i) {
    to[at] = source(i);
    at += mask[i] ? 1 : 0;
  }
}

}  // namespace

int64_t CountTrue(const bool* mask, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += mask[i] ? 1 : 0;
  return count;
}

void CompressPlaces(const bool* mask, int64_t n, int64_t base, int64_t* to, int64_t room) {
  Compress(
      mask, n, [&](int64_t i) { return base + i; }, to, room);
}
void CompressElements(const bool* mask, int64_t n, const uint32_t* from, uint32_t* to,
                      int64_t room) {
  Compress(
      mask, n, [&](int64_t i) { return from[i]; }, to, room);
}
void CompressElements(const bool* mask, int64_t n, const uint64_t* from, uint64_t* to,
                      int64_t room) {
  Compress(
      mask, n, [&](int64_t i) { return from[i]; }, to, room);
}

}  // namespace tektite::cpu
