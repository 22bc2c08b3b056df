// Which side runs a cluster's calls, its compiled code or the host's kernels: the one that is
// faster on the calls themselves.
//
// Why: no cost model is right about every machine, shape and neighbour.  A compiler that makes a
// program slower is worse than none.
//
// There is one comparison per cluster.  A call that worked ends its turn:
//
// Example(Comparison& comparison, uint64_t (*run_code)(), void (*run_host)(), bool has_kernels):
//   Comparison::Turn turn = comparison.Begin(/*shape_class=*/7, /*work=*/1024, /*generation=*/0);
//   const bool is_host = turn.side == Comparison::Side::kHost;
//   if (is_host && turn.is_measured && !has_kernels) Comparison::Postpone(&turn);
//   if (turn.side == Comparison::Side::kCompiled) {
//     turn.artifact = run_code();  // the number of the code that ran
//   } else {
//     run_host();
//   }
//   comparison.End(turn);
//
// Each call runs on one side only, so a call is never made twice.  Each class of shapes has its
// state, from CallState::kPacking on (call_state.h).
//
// Comparing takes 2 clear samples of each side, or up to 11, or one call of the host's of 0.2 s or
// more that takes 8 times what the first calls of code took.  A sample is the faster one of two
// calls in a row: the first finds in the caches what the other side has left there, and the threads
// where it left them, as later calls will not.  Compiled code is slower when it is more than 3 %
// slower by its median and by its minimum; noise moves one of them more often than both.
//
// Every 1,000th call of a class that code serves begins a check, one sample of either side, fewer
// where the host's calls take more than four times as long; after a close result, where other sizes
// have decided (known_ratios.h), and with new code, the first ones come after 12, 36, 84, 180, ...
// calls.  So a class that comes a few times costs nothing, and one that comes often has been
// measured for itself.  Comparisons that go on at the same time share their results.  Where an
// earlier process has decided (decisions.h), the first check comes after 100 calls, or 1,000 where
// code was far ahead, since the host's kernels have to be made for it (then it is postponed until
// that is done: Postpone).
//
// Thread-safe.  A settled call costs a few atomic operations (under 20 ns) and reads no clock.
// A measured turn counts only for the comparison, or the checks, in which it began: hundreds of
// threads may still be in theirs when the first of them have decided.
// Limits: up to 64 shape classes; further ones share.  Calls that overlap disturb each other's
// times, on both sides alike.
#ifndef TEKTITE_JIT_SERVING_COMPARISON_H_
#define TEKTITE_JIT_SERVING_COMPARISON_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "jit/serving/call_state.h"
#include "jit/serving/decisions.h"
#include "jit/serving/known_ratios.h"

namespace tektite::serving {

// Adds a dimension to the hash of a shape class: sizes within half an octave are one class.
uint64_t AddToShapeClass(uint64_t hash, int64_t size);

class Comparison {
 public:
  enum class Side : uint8_t { kCompiled, kHost };
  using Clock = int64_t (*)();  // nanoseconds

  // Packing takes some 50 calls, however many weights there are: an eighth of calls that read all
  // of them (late_packing.h).
  static constexpr int kMostPackingCalls = 64;
  static constexpr int kWarmRuns = 3;
  static constexpr size_t kFewSamples = 2;
  static constexpr size_t kSpotChecks = 3;
  static constexpr uint64_t kSpotCheckEvery = 1000;
  static constexpr uint64_t kFirstSpotCheck =
      12;  // of what was settled without times, then twice that...
  static constexpr uint64_t kRetryByKnownRatio = 20;
  static constexpr uint64_t kFirstCheckOfDecision = 100;  // of what an earlier process found out
  static constexpr uint64_t kRetryOfDecision = 200;
  static constexpr uint64_t kFirstRetry = 1000;
  static constexpr uint64_t kLastRetry = uint64_t{1} << 20;

  explicit Comparison(Clock clock, std::vector<Decision> earlier = {})
      : clock_(clock), earlier_(std::move(earlier)) {}
  ~Comparison();
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  class ShapeClass;
  struct Turn {
    Side side = Side::kCompiled;
    bool is_measured = false;
    bool is_demoted = false;     // the host's turn because compiled code is slower
    bool makes_kernels = false;  // the host's turn, with kernels that no call has finished yet
    bool is_timed = false;       // before the comparison
    uint32_t series = 0;         // of a measured turn: the comparison or the checks it belongs to
    ShapeClass* shape_class = nullptr;
    int64_t began = 0;
    double work = 1;
    double host_extra = 0;  // nanoseconds
    // Set by the caller of a compiled call: the code that ran, 0 if unknown, and whether weights
    // are still to be packed behind its calls, so that later ones are faster.
    uint64_t artifact = 0;
    bool is_packing = false;
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

  // Whether times or checks have found something out since this was last asked.
  bool HasNews() {
    return shared_.has_news.load(std::memory_order_relaxed) && shared_.has_news.exchange(false);
  }
  // For a later process: the decisions, and of earlier decisions those about classes that did not
  // come up.
  std::vector<Decision> Decisions(int64_t now_s) const;

 private:
  ShapeClass* Find(uint64_t key);

  static constexpr size_t kMostClasses = 64;
  static constexpr size_t kMostProbes = 8;  // then the class shares that of another shape
  const Clock clock_;
  const std::vector<Decision> earlier_;
  // By the shape classes.
  struct Shared {
    KnownRatios known_ratios;
    std::atomic<bool> has_news{false};
    std::atomic<bool> host_has_run{false};
  };
  Shared shared_;
  std::mutex mutex_;  // for adding classes
  std::array<std::atomic<ShapeClass*>, kMostClasses> classes_ = {};
};

}  // namespace tektite::serving
#endif  // TEKTITE_JIT_SERVING_COMPARISON_H_
