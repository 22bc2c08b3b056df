// Runs each call of a cluster on its faster side: compiled code, or the host's own kernels.
//
// Why: a host must not have to know how a comparison goes.  It says how its kernels run a call, and
// this class decides, times both sides and remembers (comparison.h), and runs the host's kernels
// where there is no code, or none yet.
//
// Example(FasterSide& faster, Sides& sides):
//   CallFacts call;
//   call.shape_class = 7;               // of calls like this one
//   call.work = 1024;                   // elements, by which times are divided
//   call.host = CallFacts::Host::kRuns;
//   Fallback why = Fallback::NONE;
//   const absl::Status status = faster.Run(call, sides, &why);
//   // OK: one side has run the call, the host's if `why` is not NONE.
//
// What settled, compared and packing calls run on is the list of call_state.h.  `why` is
// SLOWER_THAN_HOST or MEASURING_HOST where the host's side was chosen, and the failure's where code
// refused the call.  A reproducible call is code's, or the host's where there is none; one that is
// cancelled meanwhile is nobody's.
//
// Where calls failed in a row, the host's kernels run at once (giving_way.h): TOO_MANY_FAILURES.
//
// A comparison never makes a request wait for the host's kernels to be made: RunHost says that they
// are not ready, code runs the call, and the comparison follows later.
// Where the host has no kernels at all (kNone), code runs every call.  A caller that cannot reach
// the host's kernels, and can make the call in another way (kAbsent), is served only where code has
// won and nothing is to be measured: its call would otherwise be one that the comparison lacks.
// Thread-safe.  Limits: as comparison.h.
#ifndef TEKTITE_JIT_SERVING_FASTER_SIDE_H_
#define TEKTITE_JIT_SERVING_FASTER_SIDE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "jit/base/timing.h"
#include "jit/serving/comparison.h"
#include "jit/serving/fallback.h"
#include "jit/serving/giving_way.h"
#include "jit/serving/host_time.h"

namespace tektite::serving {

// How to run one call.
class Sides {
 public:
  virtual ~Sides() = default;
  // `host_ns`: what the host's kernels have taken for this cluster so far; null: there are none.
  // `turn` gets the number of the code that ran, and whether it packs weights behind calls.
  virtual absl::Status RunCode(const int64_t* host_ns, Comparison::Turn* turn) = 0;
  // `refusal`: of the code.  Of MEASURING_HOST, Unavailable says that the kernels are still to be
  // made, and nothing has happened.
  virtual absl::Status RunHost(Fallback why, const absl::Status& refusal) = 0;
  // A call of that side that is measured begins, or has ended: what earlier calls have told a
  // device must have run, and what they left in memory must not lie beside what the side needs.
  virtual void Settle(Comparison::Side side) {}
};

struct CallFacts {
  enum class Host : uint8_t { kNone, kAbsent, kRuns };
  uint64_t shape_class = 0;
  double work = 1;
  Host host = Host::kNone;
  double host_extra_ns = 0;      // what the host's side takes beside RunHost
  bool reproducible = false;     // the clock must not decide
  uint64_t code_generation = 0;  // changes when new code has been made
};

class FasterSide {
 public:
  struct Options {
    Comparison::Clock clock = &Nanoseconds;
    bool compares = true;  // false: code runs what it can
    // The results of earlier processes, and what keeps those of this one.  `recall` is called once,
    // at the first comparison, `keep` by one thread at a time.
    std::function<std::vector<Decision>()> recall = [] { return std::vector<Decision>(); };
    std::function<void(const Comparison&)> keep = [](const Comparison&) {};
  };

  explicit FasterSide(Options options) : options_(std::move(options)) {}
  FasterSide(const FasterSide&) = delete;
  FasterSide& operator=(const FasterSide&) = delete;

  // OK when a side has run the call; otherwise nothing has happened, except where RunHost failed,
  // whose error this is then.
  absl::Status Run(const CallFacts& call, Sides& sides, Fallback* why);
  // A call that code cannot even be asked about.
  absl::Status RunRefused(const CallFacts& call, absl::Status refusal, Sides& sides, Fallback* why);

  // 1: code is known to be faster for some class of shapes, here or from an earlier process;
  // without a comparison, it has run.  -1: it has given way.  0: neither.
  int Standing();
  // Whether code failed at the latest call that is not reproducible.
  bool HasFailed() const { return giving_way_.HasFailed(); }
  // Of the classes that have come up.
  Comparison::Report Summary() const;
  // What the host's kernels have taken.
  int64_t host_ns() const { return host_time_.total(); }

 private:
  Comparison& comparison();
  absl::Status RunHost(Fallback why, const absl::Status& refusal, Sides& sides);
  // The call of the turn ended well.
  void End(const Comparison::Turn& turn, Sides& sides);

  const Options options_;
  HostTime host_time_;
  GivingWay giving_way_;
  std::atomic<bool> has_run_{false};  // code, without a comparison
  std::once_flag once_;
  std::unique_ptr<Comparison> owned_;
  std::atomic<Comparison*> comparison_{nullptr};
  std::mutex keep_mutex_;
};

}  // namespace tektite::serving
#endif  // TEKTITE_JIT_SERVING_FASTER_SIDE_H_
