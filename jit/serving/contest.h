// Which side runs a cluster's calls, its compiled code or the host's kernels: the one that is
// faster on the calls themselves.
//
// Why: no cost model is right about every machine, shape and neighbour.  A compiler that makes a
// program slower is worse than none.
//
// There is one contest per cluster.  A call that worked ends its turn:
//
// Example(Contest& contest, uint64_t (*run_code)(), void (*run_host)(), bool has_host_kernels):
//   Contest::Turn turn = contest.Begin(/*shape_class=*/7, /*work=*/1024, /*code_generation=*/0);
//   const bool is_host = turn.side == Contest::Side::kHost;
//   if (is_host && turn.is_measured && !has_host_kernels) contest.Postpone(&turn);
//   if (turn.side == Contest::Side::kCompiled) {
//     turn.artifact = run_code();  // the number of the code that ran
//   } else {
//     run_host();
//   }
//   contest.End(turn);
//
// Each call runs on one side only, so a call is never made twice.  For each shape class:
//
//   phase         a call gets              what ends it                                then
//   warm-up       compiled                 3 compiled calls that ended well            trial
//                                          a precedent                                 won, lost
//   trial         host and compiled in     2 clear samples of each side, or up to 11   won, lost
//                 turns, timed             one call of the host's of 0.2 s or more that  won
//                                          takes 8 times what the warm-up's calls took
//   compiled won  compiled; from call      3 checks, one sample of either side each,   trial
//                 check_at a spot check    that say it loses
//   host won      host                     call retry_at, or new code                  trial
//                                          the same, of a verdict of another process   warm-up
//
// Every 1,000th call of a winner begins a spot check, fewer where the host's calls take more than
// four times as long; after a close result the first ones come after 12, 36, 84, 180, ... calls.
// A sample is the faster one of two calls in a row: the first finds in the caches what the other
// side has left there, and the threads where it left them, as the winner's calls will not.
// Compiled code loses when it is more than 3 % slower by its median and by its minimum; noise moves
// one of them more often than both.  After a loss there is a new trial when new code has been made,
// or after 1,000 calls, then 2,000, 4,000, ...
// Where the same code was far ahead, or far behind, at shapes of about that size (precedents.h), a
// new class is settled without a trial: the winner by precedent is looked at after 12, 36, 84, 180,
// ... calls, the loser has its trial after 20.  So a class that comes a few times costs nothing,
// and a class that comes often has been measured for itself.  Trials that go on at the same time
// share their results.  New code for a class that won is checked in the same way.  The verdicts of
// an earlier process (verdicts.h) are taken up: the winner runs from the first call on, with the
// first spot checks after 100, or 1,000 where it was far ahead, since the host's kernels have to be
// made for them (then they are postponed until that is done: Postpone), and further ones 12, 36,
// 84, ...  calls later; the loser is warmed up and tried after 200.
//
// Thread-safe.  A settled call costs a few atomic operations (under 20 ns) and reads no clock.
// A measured turn counts only for the trial, or the spot checks, in which it began: hundreds of
// threads may still be in theirs when the first of them have decided.
// Limits: up to 64 shape classes; further ones share.  Calls that overlap disturb each other's
// times, on both sides alike.
#ifndef TEKTITE_JIT_SERVING_CONTEST_H_
#define TEKTITE_JIT_SERVING_CONTEST_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "jit/serving/precedents.h"
#include "jit/serving/verdicts.h"

namespace tektite::serving {

// Adds a dimension to the hash of a shape class: sizes within half an octave are one class.
uint64_t AddToShapeClass(uint64_t hash, int64_t size);

class Contest {
 public:
  enum class Side : uint8_t { kCompiled, kHost };
  using Clock = int64_t (*)();  // nanoseconds

  static constexpr int kWarmRuns = 3;
  static constexpr int kRunOfCalls = 2;  // a sample
  static constexpr size_t kFewSamples = 2;
  static constexpr size_t kManySamples = 11;
  static constexpr size_t kSpotChecks = 3;
  static constexpr uint64_t kSpotCheckEvery = 1000;
  static constexpr uint64_t kFirstSpotCheck =
      12;  // of what won without a trial, then twice that...
  static constexpr uint64_t kRetryByPrecedent = 20;
  static constexpr uint64_t kFirstCheckOfVerdict = 100;  // of what an earlier process found out
  static constexpr uint64_t kRetryOfVerdict = 200;
  static constexpr uint64_t kFirstRetry = 1000;
  static constexpr uint64_t kLastRetry = uint64_t{1} << 20;

  explicit Contest(Clock clock, std::vector<Verdict> earlier = {})
      : clock_(clock), earlier_(std::move(earlier)) {}
  ~Contest();
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  class ShapeClass;
  struct Turn {
    Side side = Side::kCompiled;
    bool is_measured = false;
    bool is_demoted = false;     // the host's turn because compiled code lost
    bool makes_kernels = false;  // the host's turn, with kernels that no call has finished yet
    bool is_timed = false;       // of a warm-up
    uint32_t series = 0;         // of a measured turn: the trial or the spot checks it belongs to
    ShapeClass* shape_class = nullptr;
    int64_t began = 0;
    double work = 1;
    double host_extra = 0;  // nanoseconds
    uint64_t artifact = 0;  // set by the caller of a compiled call: the code that ran, 0 if unknown
  };

  // `work` is what times are divided by, so that calls of different sizes can be compared (elements
  // of the arguments); `code_generation` changes when new code has been made; `host_extra`:
  // nanoseconds that calls take beside the timed part where the host's kernels run.
  Turn Begin(uint64_t shape_class, double work, uint64_t code_generation, double host_extra = 0);
  // Compiled code's turn, unmeasured, where it has won and no spot check is due; otherwise nothing
  // has happened.
  std::optional<Turn> BeginIfWon(uint64_t shape_class, double work);
  // The host's kernels have run before, outside any turn: the next call of theirs makes none.
  void KnowHostHasRun() {
    if (shared_.host_has_run.load(std::memory_order_relaxed)) return;
    shared_.host_has_run.store(true, std::memory_order_release);
  }
  // Hands a measured turn of the host's to compiled code, unmeasured, and asks for another later.
  static void Postpone(Turn* turn);
  // A measured turn begins now.
  void Restart(Turn* turn) const {
    if (turn->is_measured) turn->began = clock_();
  }
  // Whether compiled code has won some class of shapes, here or in an earlier process.
  bool HasWonAny() const;
  // The call ended well.  A turn that did not is forgotten.
  void End(const Turn& turn);

  struct Report {
    int compiled = 0;        // shape classes that compiled code won
    int host = 0;            // that it lost
    int open = 0;            // not decided yet
    double worst_ratio = 0;  // compiled over host time, of those that lost
    double won_ratios = 0;   // the sum of the others that are decided
  };
  Report Summary() const;

  // Whether a trial or spot checks have found something out since this was last asked.
  bool HasNews() {
    return shared_.has_news.load(std::memory_order_relaxed) && shared_.has_news.exchange(false);
  }
  // For a later process: the decisions, and of earlier verdicts those about classes that did not
  // come up.
  std::vector<Verdict> Verdicts(int64_t now_s) const;

 private:
  ShapeClass* Find(uint64_t key);

  static constexpr size_t kMostClasses = 64;
  static constexpr size_t kMostProbes = 8;  // then the class shares that of another shape
  const Clock clock_;
  const std::vector<Verdict> earlier_;
  // By the shape classes.
  struct Shared {
    Precedents precedents;
    std::atomic<bool> has_news{false};
    std::atomic<bool> host_has_run{false};
  };
  Shared shared_;
  std::mutex mutex_;  // for adding classes
  std::array<std::atomic<ShapeClass*>, kMostClasses> classes_ = {};
};

}  // namespace tektite::serving
#endif  // TEKTITE_JIT_SERVING_CONTEST_H_
