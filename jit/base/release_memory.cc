#include "jit/base/release_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>

#include "jit/base/timing.h"

namespace tektite {
namespace {

// Released memory costs page faults when it is needed again, and walking the heap takes a
// millisecond, or twenty in a training program of a gigabyte: what lies between keeps the walks to
// a twentieth of the time and the faults to some hundredths.
//
// By processor time: a thread that a busy machine lets run a quarter of the time would otherwise
// walk the heap four times as often for the same work: of compiling a bidirectional LSTM's step
// that was a sixth.
constexpr int64_t kBetweenNs = 50'000'000, kBetweenPerCost = 20;

}  // namespace

void ReleaseFreeMemoryAtTimes() {
  static thread_local int64_t due = 0;
  const int64_t began = ThreadNanoseconds();
  if (began < due) return;
  malloc_trim(0);
  const int64_t ended = ThreadNanoseconds();
  due = ended + std::max(kBetweenNs, kBetweenPerCost * (ended - began));
}

void ReleaseFreeMemory() { malloc_trim(0); }

}  // namespace tektite
