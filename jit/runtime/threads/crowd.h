// Whether other programs crowd the machine, as seen from threads that come late to their work.
//
//   if (Nanoseconds() - asked > kLateNs) NoteLateness(Nanoseconds());
//   if (IsCrowded(Nanoseconds())) ... sleep rather than spin ...
//
// A crowd is two threads or more that run or want to, for each core, of all programs together, as a
// moving average.  Linux alone knows (/proc/loadavg), which takes 2 us: it is asked when a thread
// was late, and in a crowd every kLookNs.
// Limits: where the system does not say, and inside a limit on one container's processor time,
// there is no crowd.
#ifndef TEKTITE_JIT_RUNTIME_THREADS_CROWD_H_
#define TEKTITE_JIT_RUNTIME_THREADS_CROWD_H_

#include <cstdint>

namespace tektite::runtime {

inline constexpr int64_t kLookNs = 10'000'000;

// `now`: Nanoseconds().
bool IsCrowded(int64_t now);
void NoteLateness(int64_t now);

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_THREADS_CROWD_H_
