// When a function with jit_compile=True goes back to XLA, since its results were not finite.
//
// Why: compiled code has XLA's special values (docs/numbers.md), but XLA also joins products and
// sums into one rounding, so that a product may overflow here and not there, and a form that nobody
// has tried may differ.  A training that works under XLA must not turn to NaN.  So some calls are
// watched: their updates go to fresh memory, so that the call can still be XLA's, and every float
// of the results is looked at.  Where one is not finite, XLA runs the call.  If XLA's results are
// finite, all later calls are XLA's; otherwise the two agree.
//
// Example(XlaGuard& guard, bool (*run_code)(bool into_fresh_memory), bool (*run_xla)()):
//   bool is_xlas = guard.LeavesToXla();
//   if (!is_xlas && guard.Watches()) {
//     is_xlas = !run_code(/*into_fresh_memory=*/true);  // whether all results are finite
//     is_xlas ? guard.Suspect() : guard.Watched(/*bytes=*/4096);
//   } else if (!is_xlas) {
//     run_code(false);
//   }
//   if (is_xlas) guard.Examine(run_xla());
//
// The first kFirstCalls calls are watched, as long as their results are less than kFirstBytes in
// all; then one in kEvery, and the fewer the larger results are.  After kMostComparisons that
// agreed no call is watched.
// Thread-safe.  Limits: what turns to NaN between two watched calls is not seen.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_XLA_GUARD_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_XLA_GUARD_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tektite::tf_hook {

class XlaGuard {
 public:
  static constexpr int64_t kFirstCalls = 128;
  static constexpr int64_t kFirstBytes = int64_t{1} << 28;
  static constexpr int64_t kEvery = 64;  // for each MiB of results
  static constexpr int kMostComparisons = 8;

  // Where nothing of the cluster is XLA's, it does nothing.
  explicit XlaGuard(bool is_on) : state_(is_on ? State::kWatching : State::kOff) {}

  // Whether this call is XLA's, for good or in order to be compared.
  bool LeavesToXla() const {
    const State state = state_.load(std::memory_order_relaxed);
    return state == State::kSuspected || state == State::kDiffers;
  }
  bool IsXlasForGood() const { return state_.load(std::memory_order_relaxed) == State::kDiffers; }
  // Whether this call is to be watched; counts calls.
  bool Watches() {
    if (state_.load(std::memory_order_relaxed) != State::kWatching) return false;
    return calls_.fetch_add(1, std::memory_order_relaxed) >= next_.load(std::memory_order_relaxed);
  }
  // A watched call's results were finite.
  void Watched(int64_t bytes) {
    const int64_t all = bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    const int64_t calls = calls_.load(std::memory_order_relaxed);
    if (calls < kFirstCalls && all < kFirstBytes) return;
    const int64_t pause = kEvery * std::max<int64_t>(1, bytes >> 20);
    next_.store(calls + pause - 1, std::memory_order_relaxed);
  }
  // A watched call's results were not finite: the next one is XLA's, if this one cannot be.
  void Suspect() { Change(State::kWatching, State::kSuspected); }
  // XLA has run a call that LeavesToXla or a watched call left to it.
  void Examine(bool is_finite) {
    if (is_finite) return Change(State::kSuspected, State::kDiffers);
    const bool is_last =
        comparisons_.fetch_add(1, std::memory_order_relaxed) + 1 >= kMostComparisons;
    Change(State::kSuspected, is_last ? State::kOff : State::kWatching);
  }

 private:
  enum class State : uint8_t { kOff, kWatching, kSuspected, kDiffers };
  void Change(State from, State to) {
    state_.compare_exchange_strong(from, to, std::memory_order_relaxed);
  }

  std::atomic<State> state_;
  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> next_{0};   // the call to watch
  std::atomic<int64_t> bytes_{0};  // of watched calls
  std::atomic<int> comparisons_{0};
};

// Whether no float of these, given as their bits, is infinite or NaN: none has all bits of
// `exponent`.
template <typename Bits>
bool AllFinite(const Bits* bits, size_t count, Bits exponent) {
  const auto is_finite = [exponent](Bits b) { return (b & exponent) != exponent; };
  constexpr size_t kBlock = 1024;  // a constant, so that the inner loop becomes one of vectors
  size_t begin = 0;
  for (; begin + kBlock <= count; begin += kBlock) {
    Bits found = 0;
    for (size_t i = 0; i < kBlock; ++i) {
      found |= static_cast<Bits>(is_finite(bits[begin + i]) ? 0 : 1);
    }
    if (found != 0) return false;
  }
  return std::all_of(bits + begin, bits + count, is_finite);
}

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_XLA_GUARD_H_
