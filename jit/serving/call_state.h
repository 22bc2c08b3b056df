// How far a class of calls has come, from its first call to a settled side: call_state_list.inc as
// code.  docs/design/call_states.md has the list as tables.
//
// Why: whether to load, to compile, to pack or to compare is one question, "what is worth it now?",
// and its answers follow each other.  The states up to kPacking are those of a cluster's code
// (cluster.h), which many classes of calls may share; a class goes on from there (comparison.h).
//
// Example(CallProgress& progress):
//   if (progress.Take(CallEvent::kAsked)) {
//     // This thread, and no other, reads the program from disk.
//     progress.Take(CallEvent::kNotLoaded);
//   }
//   const bool waits = progress.state() == CallState::kWaiting;
//
// Thread-safe: of threads that take the same event at once, one moves the state.
#ifndef TEKTITE_JIT_SERVING_CALL_STATE_H_
#define TEKTITE_JIT_SERVING_CALL_STATE_H_

#include <atomic>
#include <cstdint>
#include <optional>

namespace tektite::serving {

enum class CallState : uint8_t {
#define TEKTITE_CALL_STATE(name, runs) k##name,
#define TEKTITE_CALL_TRANSITION(from, event, to, when)
#include "jit/serving/call_state_list.inc"
#undef TEKTITE_CALL_STATE
#undef TEKTITE_CALL_TRANSITION
};

enum class CallEvent : uint8_t {
  kAsked,
  kDemanded,
  kNotLoaded,
  kPays,
  kMade,
  kRefused,
  kNoRoom,
  kPacks,
  kPacked,
  kWarm,
  kCodeFaster,
  kHostFaster,
  kAgain,
  kFirstTime,
};

struct CallTransition {
  CallState from;
  CallEvent event;
  CallState to;
};
inline constexpr CallTransition kCallTransitions[] = {
#define TEKTITE_CALL_STATE(name, runs)
#define TEKTITE_CALL_TRANSITION(from, event, to, when) \
  {CallState::k##from, CallEvent::k##event, CallState::k##to},
#include "jit/serving/call_state_list.inc"
#undef TEKTITE_CALL_STATE
#undef TEKTITE_CALL_TRANSITION
};

// Where code is there, or will never be.
inline bool IsMade(CallState state) { return state >= CallState::kRefused; }

class CallProgress {
 public:
  explicit CallProgress(CallState first) : state_(first) {}

  CallState state() const { return state_.load(std::memory_order_acquire); }
  // False, and nothing has happened, where the list has no row for it.
  bool Take(CallEvent event) {
    CallState now = state();
    for (std::optional<CallState> to = Next(now, event); to; to = Next(now, event)) {
      if (state_.compare_exchange_weak(now, *to, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  static std::optional<CallState> Next(CallState from, CallEvent event) {
    for (const CallTransition& row : kCallTransitions) {
      if (row.from == from && row.event == event) return row.to;
    }
    return std::nullopt;
  }

 private:
  std::atomic<CallState> state_;
};

}  // namespace tektite::serving
#endif  // TEKTITE_JIT_SERVING_CALL_STATE_H_
