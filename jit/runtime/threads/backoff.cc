#include "jit/runtime/threads/backoff.h"

#include <sched.h>
#include <time.h>

#include "jit/base/timing.h"
#include "jit/runtime/threads/crowd.h"

namespace tektite::runtime {

void Backoff::GiveWay() {
  // A yield to one of the system's own threads, or a sleep's end, takes less.
  constexpr int64_t kLongNs = 300'000;
  constexpr timespec kSleep{0, 2'000};  // Linux adds 50 us
  const int64_t now = Nanoseconds();
  if (IsCrowded(now)) {
    nanosleep(&kSleep, nullptr);
  } else {
    sched_yield();
  }
  const int64_t after = Nanoseconds();
  if (after - now > kLongNs) NoteLateness(after);
}

}  // namespace tektite::runtime
