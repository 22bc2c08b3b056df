#include "jit/serving/comparison.h"

#include <algorithm>
#include <optional>

#include "jit/serving/comparison_samples.h"

namespace tektite::serving {
namespace {

constexpr double kLoss = 1.03;
// The ratios that other shapes must have shown for a class to be settled without times of its own.
constexpr double kFarAhead = 0.85;
constexpr double kFarBehind = 1.2;

// Compiled code has clearly won with so many samples of either side when it is below this.  Three
// may all lie in a burst of something else, such as the compilation of better code, which slows the
// host's kernels down more than ours: 0.83 was seen where the truth was 1.2.
double ClearWin(size_t samples) {
  if (samples >= 8) return 0.95;
  if (samples >= 5) return 0.9;
  return samples >= 3 ? 0.75 : 0.5;
}

// Nor do two pairs of calls have to tell where one call of the host's takes this long, and this
// many times what compiled code took when it was warmed up: bursts are shorter.  (A training step
// with grouped convolutions takes stock TensorFlow 23 s and compiled code 0.3 s.)
constexpr double kLongCallNs = 200e6;
constexpr double kFarBeyond = 8;

// Calls between spot checks, whose two calls of the host's then take a 125th of the time at most.
uint64_t CallsBetween(double ratio) {
  constexpr double kMostTimes = 64;
  const double times = std::clamp(0.25 / std::max(ratio, 1e-9), 1.0, kMostTimes);
  return static_cast<uint64_t>(times * static_cast<double>(Comparison::kSpotCheckEvery));
}

// And clearly lost when it is above this.
double ClearLoss(size_t samples) { return samples >= 3 ? 1.5 : 2; }

}  // namespace

uint64_t AddToShapeClass(uint64_t hash, int64_t size) {
  auto bucket = static_cast<uint64_t>(size);
  if (size >= 8) {
    const int octave = 63 - __builtin_clzll(bucket);
    bucket = static_cast<uint64_t>(octave) * 2 + ((bucket >> (octave - 1)) & 1) + 8;
  }
  return (hash ^ bucket) * 0x9E3779B97F4A7C15ull + 0x7F4A7C15ull;
}

class Comparison::ShapeClass {
 public:
  // `earlier` may be null.
  ShapeClass(uint64_t key, Shared* shared, const Decision* earlier)
      : key(key),
        known_ratios_(shared->known_ratios),
        has_news_(shared->has_news),
        host_has_run_(shared->host_has_run) {
    if (earlier == nullptr) return;
    decision_ = *earlier;
    is_recalled_ = true;
    ratio_ = earlier->ratio;
    check_every_ = kFirstSpotCheck / 2;  // doubled after each
    most_between_ = CallsBetween(earlier->ratio);
    check_at_ = earlier->ratio <= kFarAhead ? kSpotCheckEvery : kFirstCheckOfDecision;
    retry_at_ = kRetryOfDecision;
    Settle(earlier->compiled_won ? CallEvent::kCodeFaster : CallEvent::kHostFaster);
  }

  void Begin(uint64_t code_generation, Turn* turn) {
    const CallState now = progress_.state();
    const uint64_t call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (now == CallState::kSettledForCode && call < check_at_.load(std::memory_order_relaxed)) {
      return;
    }
    if (now == CallState::kSettledForHost && IsLeftToHost(call, code_generation)) {
      return LeaveToHost(turn);
    }
    std::lock_guard<std::mutex> lock(mutex_);
    // Another thread may have settled it while this one waited for the mutex.
    if (progress_.state() == CallState::kSettledForHost) {
      if (IsLeftToHost(call, code_generation)) return LeaveToHost(turn);
      Forget();
      // Where it is recalled, its code has not run in this process.
      progress_.Take(is_recalled_.exchange(false) ? CallEvent::kFirstTime : CallEvent::kAgain);
    } else if (progress_.state() == CallState::kSettledForCode) {
      return SpotCheck(call, turn);
    } else if (progress_.state() == CallState::kComparing && is_first_ && host_.size() < 2 &&
               SettleByKnownRatio(turn->work)) {
      // Other classes have shown it meanwhile; a class that has come further shows it itself.
      if (progress_.state() == CallState::kSettledForHost) LeaveToHost(turn);
      return;
    }
    Know(code_generation);
    if (progress_.state() == CallState::kComparing) return Measure(turn);
    turn->is_timed = true;
  }

  // One look at each of phase and count decides; what other threads do next changes nothing.
  bool BeginIfWon() {
    if (progress_.state() != CallState::kSettledForCode ||
        calls() + 1 >= check_at_.load(std::memory_order_relaxed)) {
      return false;
    }
    calls_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  void Postpone(Turn* turn) {
    turn->side = Side::kCompiled;
    turn->is_measured = false;
    turn->makes_kernels = false;
    std::lock_guard<std::mutex> lock(mutex_);
    if (turn->series != series_) return;
    turn_order_.Restart();
    if (progress_.state() == CallState::kSettledForCode) {
      check_at_.store(calls() + 2 * check_every_, std::memory_order_relaxed);
    }
  }

  void End(const Turn& turn, double time) {
    const bool is_new_code = turn.artifact > artifact_.load(std::memory_order_relaxed);
    if (!turn.is_measured && !is_new_code && progress_.state() >= CallState::kComparing) return;
    std::lock_guard<std::mutex> lock(mutex_);
    if (turn.artifact > artifact_.load(std::memory_order_relaxed)) {
      artifact_.store(turn.artifact, std::memory_order_relaxed);
      if (progress_.state() == CallState::kSettledForCode) {
        if (is_recalled_) {
          known_ratios_.Add(turn.artifact, turn.work, ratio_);
        } else {
          CheckAfter(kFirstSpotCheck);
        }
        is_recalled_ = false;
      }
    }
    if (!turn.is_measured) return WarmUp(turn, time);
    // The host's kernels are made by its first call, and all wait for it that begin before it ends.
    if (turn.side == Side::kHost) host_has_run_.store(true, std::memory_order_release);
    if (turn.series != series_) return;
    if (turn.makes_kernels) {
      turn_order_.Restart();
      return;
    }
    if (IsStillPacking(turn) && progress_.Take(CallEvent::kPacks)) return Forget();
    if (IsFarBeyond(turn, time)) {
      Win(turn.work, warm_time_ / time, warm_time_ / time);
      return;
    }
    AddTime(turn, time);
  }

  void AddTo(Report* report) {
    std::lock_guard<std::mutex> lock(mutex_);
    switch (progress_.state()) {
      case CallState::kSettledForCode:
        ++report->compiled;
        report->won_ratios += ratio_;
        break;
      case CallState::kSettledForHost:
        ++report->host;
        report->worst_ratio = std::max(report->worst_ratio, ratio_);
        break;
      default:
        ++report->open;
    }
  }

  // Nothing where nothing was found out by times or by checks, here or earlier.
  std::optional<Decision> LastDecision(int64_t now_s) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (decision_ && decision_->decided_s == kJustNow) decision_->decided_s = now_s;
    return decision_;
  }

  const uint64_t key;

 private:
  static constexpr int64_t kJustNow = -1;

  // While an earlier decision stands, code that appears is the code that it is about.  A thread may
  // have read its generation before another one came with a newer one.
  bool IsKnown(uint64_t code_generation) const {
    return is_recalled_.load(std::memory_order_relaxed) ||
           code_generation <= generation_.load(std::memory_order_relaxed);
  }

  bool IsLeftToHost(uint64_t call, uint64_t code_generation) const {
    return call < retry_at_.load(std::memory_order_relaxed) && IsKnown(code_generation);
  }

  // The mutex is held, as for the functions below.
  void Know(uint64_t code_generation) {
    const uint64_t known = generation_.load(std::memory_order_relaxed);
    generation_.store(std::max(known, code_generation), std::memory_order_relaxed);
  }

  void Measure(Turn* turn) {
    turn->is_measured = true;
    turn->series = series_;
    turn->side = turn_order_.NextIsHost() ? Side::kHost : Side::kCompiled;
    turn->makes_kernels =
        turn->side == Side::kHost && !host_has_run_.load(std::memory_order_acquire);
  }

  void Record(bool compiled_won, double ratio) {
    // The same decision once more is no news: it is written with the next one that is.
    const bool is_news = !decision_ || decision_->compiled_won != compiled_won;
    decision_ = Decision{key, compiled_won, ratio, kJustNow};
    if (is_news) has_news_.store(true, std::memory_order_relaxed);
  }

  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }

  void Forget() {
    ++series_;
    turn_order_.Restart();
    host_ = {};
    compiled_ = {};
  }

  static void LeaveToHost(Turn* turn) {
    turn->side = Side::kHost;
    turn->is_demoted = true;
  }

  // Later calls are going to be faster, so that a comparison would say nothing of them.
  bool IsStillPacking(const Turn& turn) {
    if (!turn.is_packing || packing_calls_ >= kMostPackingCalls) return false;
    ++packing_calls_;
    return true;
  }

  void WarmUp(const Turn& turn, double time) {
    if (turn.side != Side::kCompiled || progress_.state() >= CallState::kComparing) return;
    if (IsStillPacking(turn)) return;
    progress_.Take(CallEvent::kPacked);
    if (SettleByKnownRatio(turn.work)) return;
    // The first call touches memory for the first time, and packs weights.
    if (warm_runs_ > 0) warm_time_ = std::max(warm_time_, time);
    if (++warm_runs_ < kWarmRuns) return;
    Forget();
    progress_.Take(CallEvent::kWarm);
  }

  bool IsFarBeyond(const Turn& turn, double time) const {
    return is_first_ && turn.side == Side::kHost && warm_time_ > 0 &&
           progress_.state() == CallState::kComparing && time * turn.work >= kLongCallNs &&
           time >= kFarBeyond * warm_time_;
  }

  // `most`: the worse of what median and minimum say.
  void Win(double work, double ratio, double most) {
    losses_ = 0;
    most_between_ = CallsBetween(ratio);
    // A close result is checked again soon: that costs little.
    CheckAfter(most <= kFarAhead ? most_between_ : kFirstSpotCheck);
    known_ratios_.Add(artifact_.load(std::memory_order_relaxed), work, most);
    Record(/*compiled_won=*/true, ratio);
    Settle(CallEvent::kCodeFaster);
  }

  // One run of calls of either side.
  void SpotCheck(uint64_t call, Turn* turn) {
    if (call < check_at_.load(std::memory_order_relaxed)) return;
    Measure(turn);
    if (!turn_order_.IsComplete()) return;
    check_every_ = std::min(2 * check_every_, most_between_);
    check_at_.store(call + check_every_, std::memory_order_relaxed);
  }

  void AddTime(const Turn& turn, double time) {
    Samples& samples = turn.side == Side::kHost ? host_ : compiled_;
    if (!samples.Add(time)) return;
    if (is_first_ && host_.size() > 0 && compiled_.size() > 0) {
      known_ratios_.AddPair(artifact_.load(std::memory_order_relaxed), turn.work,
                            compiled_.last() / host_.last());
    }
    const bool is_check = progress_.state() == CallState::kSettledForCode;
    const size_t number = std::min(host_.size(), compiled_.size());
    if (number < (is_check ? kSpotChecks : kFewSamples)) return;
    const Ratios ratios = {compiled_.Median() / host_.Median(),
                           compiled_.Minimum() / host_.Minimum()};
    is_check ? DecideChecks(ratios) : Decide(turn.work, ratios, number);
  }

  void CheckAfter(uint64_t number) {
    turn_order_.Restart();
    check_every_ = number;
    check_at_.store(calls() + number, std::memory_order_relaxed);
  }

  bool SettleByKnownRatio(double work) {
    const auto expected = known_ratios_.Find(artifact_.load(std::memory_order_relaxed), work);
    if (!expected) return false;
    if (expected->worst <= kFarAhead) {
      CheckAfter(kFirstSpotCheck);
      Settle(CallEvent::kCodeFaster);
      return true;
    }
    if (expected->best < kFarBehind) return false;
    ratio_ = expected->best;
    retry_at_.store(calls() + kRetryByKnownRatio, std::memory_order_relaxed);
    Settle(CallEvent::kHostFaster);
    return true;
  }

  struct Ratios {
    double by_median, by_minimum;
    double least() const { return std::min(by_median, by_minimum); }
    double most() const { return std::max(by_median, by_minimum); }
  };

  // Checks lie far apart, so their results are examined closely.
  void DecideChecks(const Ratios& ratios) {
    if (ratios.least() > kLoss) {
      Forget();
      progress_.Take(CallEvent::kAgain);
      return;
    }
    most_between_ = CallsBetween(ratios.by_median);
    Record(/*compiled_won=*/true, ratios.by_median);
    host_ = {};
    compiled_ = {};
  }

  void Decide(double work, const Ratios& ratios, size_t samples) {
    const double least = ratios.least(), most = ratios.most();
    const bool is_enough = samples >= kManySamples;
    const uint64_t artifact = artifact_.load(std::memory_order_relaxed);
    if (most < ClearWin(samples) || (is_enough && least <= kLoss)) {
      Win(work, ratios.by_median, most);
    } else if (least > ClearLoss(samples) || (is_enough && least > kLoss)) {
      ratio_ = ratios.by_median;
      const uint64_t wait = kFirstRetry << std::min(losses_, 20);
      ++losses_;
      retry_at_.store(calls() + std::min(wait, kLastRetry), std::memory_order_relaxed);
      known_ratios_.Add(artifact, work, least);
      Record(/*compiled_won=*/false, ratio_);
      Settle(CallEvent::kHostFaster);
    }
  }

  void Settle(CallEvent which) {
    is_first_ = false;
    Forget();
    progress_.Take(which);
  }

  KnownRatios& known_ratios_;
  std::atomic<bool>& has_news_;
  std::atomic<bool>& host_has_run_;
  CallProgress progress_{CallState::kPacking};
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> check_at_{0};  // the call that begins a spot check
  std::atomic<uint64_t> retry_at_{0};
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint64_t> artifact_{0};  // the newest that ran
  std::atomic<bool> is_recalled_{
      false};  // an earlier decision stands, and its code has not run yet

  std::mutex mutex_;  // guards the members below, and changes of progress_
  uint64_t check_every_ = kSpotCheckEvery, most_between_ = kSpotCheckEvery;
  int warm_runs_ = 0, packing_calls_ = 0;
  double warm_time_ = 0;  // the slowest but for the first
  int losses_ = 0;
  bool is_first_ = true;  // not settled yet
  uint32_t series_ = 1;   // counts comparisons, and spot checks that follow each other
  double ratio_ = 0;
  std::optional<Decision> decision_;
  TurnOrder turn_order_;
  Samples host_, compiled_;
};

Comparison::~Comparison() {
  for (auto& entry : classes_) delete entry.load();
}

Comparison::ShapeClass* Comparison::Find(uint64_t key) {
  const size_t home = key % kMostClasses;
  for (size_t i = 0; i < kMostProbes; ++i) {
    std::atomic<ShapeClass*>& entry = classes_[(home + i) % kMostClasses];
    ShapeClass* found = entry.load(std::memory_order_acquire);
    if (found == nullptr) {
      std::lock_guard<std::mutex> lock(mutex_);
      found = entry.load(std::memory_order_relaxed);
      if (found == nullptr) {
        const auto earlier =
            std::find_if(earlier_.begin(), earlier_.end(),
                         [&](const Decision& decision) { return decision.shape_class == key; });
        found = new ShapeClass(key, &shared_, earlier == earlier_.end() ? nullptr : &*earlier);
        entry.store(found, std::memory_order_release);
      }
    }
    if (found->key == key) return found;
  }
  return classes_[home].load(std::memory_order_acquire);
}

Comparison::Turn Comparison::Begin(uint64_t shape_class, double work, uint64_t code_generation,
                                   double host_extra) {
  Turn turn;
  turn.shape_class = Find(shape_class);
  turn.work = std::max(work, 1.0);
  turn.host_extra = host_extra;
  turn.shape_class->Begin(code_generation, &turn);
  if (turn.is_measured || turn.is_timed) turn.began = clock_();
  return turn;
}

void Comparison::Postpone(Turn* turn) { turn->shape_class->Postpone(turn); }

std::optional<Comparison::Turn> Comparison::BeginIfWon(uint64_t shape_class, double work) {
  Turn turn;
  turn.shape_class = Find(shape_class);
  turn.work = std::max(work, 1.0);
  if (!turn.shape_class->BeginIfWon()) return std::nullopt;
  return turn;
}

void Comparison::End(const Turn& turn) {
  double time = 0;
  if (turn.is_measured || turn.is_timed) {
    time = static_cast<double>(clock_() - turn.began);
    if (turn.side == Side::kHost) time += turn.host_extra;
  }
  turn.shape_class->End(turn, std::max(time / turn.work, 1e-9));
}

bool Comparison::HasWonAny() const {
  return std::any_of(earlier_.begin(), earlier_.end(),
                     [](const Decision& decision) { return decision.compiled_won; }) ||
         Summary().compiled > 0;
}

Comparison::Report Comparison::Summary() const {
  Report report;
  for (const auto& entry : classes_) {
    ShapeClass* const shape_class = entry.load(std::memory_order_acquire);
    if (shape_class != nullptr) shape_class->AddTo(&report);
  }
  return report;
}

std::vector<Decision> Comparison::Decisions(int64_t now_s) const {
  std::vector<Decision> decisions;
  for (const auto& entry : classes_) {
    ShapeClass* const shape_class = entry.load(std::memory_order_acquire);
    if (shape_class == nullptr) continue;
    if (const auto decision = shape_class->LastDecision(now_s)) decisions.push_back(*decision);
  }
  for (const Decision& decision : earlier_) {
    const bool is_known = std::any_of(
        decisions.begin(), decisions.end(),
        [&](const Decision& known) { return known.shape_class == decision.shape_class; });
    if (!is_known && decisions.size() < kMostDecisions) decisions.push_back(decision);
  }
  return decisions;
}

}  // namespace tektite::serving
