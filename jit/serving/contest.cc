#include "jit/serving/contest.h"

#include <algorithm>
#include <optional>

namespace tektite::serving {
namespace {

constexpr double kLoss = 1.03;
// The ratios that other shapes must have shown for a class to be settled without a trial.
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
  return static_cast<uint64_t>(times * static_cast<double>(Contest::kSpotCheckEvery));
}

// And clearly lost when it is above this.
double ClearLoss(size_t samples) { return samples >= 3 ? 1.5 : 2; }

enum class Phase : uint8_t { kWarmUp, kTrial, kCompiledWon, kHostWon };

// The durations of one side's runs of calls, in nanoseconds over work.
class Samples {
 public:
  // Returns whether the call completes a run, which is a sample.
  bool Add(double time) {
    best_ = calls_ == 0 ? time : std::min(best_, time);
    if (++calls_ < Contest::kRunOfCalls) return false;
    calls_ = 0;
    last_ = best_;
    if (times_.size() < Contest::kManySamples) times_.push_back(best_);
    return true;
  }

  size_t size() const { return times_.size(); }
  double last() const { return last_; }
  double Minimum() const { return *std::min_element(times_.begin(), times_.end()); }
  double Median() const {
    std::vector<double> times = times_;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }

 private:
  std::vector<double> times_;
  double best_ = 0, last_ = 0;
  int calls_ = 0;  // of the run that is going on
};

// Whose turn it is: a run of the host's calls, then one of compiled code's.
class TurnOrder {
 public:
  Contest::Side Next() {
    const bool is_host = next_ < Contest::kRunOfCalls;
    next_ = (next_ + 1) % (2 * Contest::kRunOfCalls);
    return is_host ? Contest::Side::kHost : Contest::Side::kCompiled;
  }
  bool IsComplete() const { return next_ == 0; }
  void Restart() { next_ = 0; }

 private:
  int next_ = 0;
};

}  // namespace

uint64_t AddToShapeClass(uint64_t hash, int64_t size) {
  auto bucket = static_cast<uint64_t>(size);
  if (size >= 8) {
    const int octave = 63 - __builtin_clzll(bucket);
    bucket = static_cast<uint64_t>(octave) * 2 + ((bucket >> (octave - 1)) & 1) + 8;
  }
  return (hash ^ bucket) * 0x9E3779B97F4A7C15ull + 0x7F4A7C15ull;
}

class Contest::ShapeClass {
 public:
  // `earlier` may be null.
  ShapeClass(uint64_t key, Shared* shared, const Verdict* earlier)
      : key(key),
        precedents_(shared->precedents),
        has_news_(shared->has_news),
        host_has_run_(shared->host_has_run) {
    if (earlier == nullptr) return;
    verdict_ = *earlier;
    is_recalled_ = true;
    ratio_ = earlier->ratio;
    check_every_ = kFirstSpotCheck / 2;  // doubled after each
    most_between_ = CallsBetween(earlier->ratio);
    check_at_ = earlier->ratio <= kFarAhead ? kSpotCheckEvery : kFirstCheckOfVerdict;
    retry_at_ = kRetryOfVerdict;
    Settle(earlier->compiled_won ? Phase::kCompiledWon : Phase::kHostWon);
  }

  void Begin(uint64_t code_generation, Turn* turn) {
    const Phase now = phase_.load(std::memory_order_acquire);
    const uint64_t call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (now == Phase::kCompiledWon && call < check_at_.load(std::memory_order_relaxed)) return;
    if (now == Phase::kHostWon && IsLeftToHost(call, code_generation)) {
      turn->side = Side::kHost;
      turn->is_demoted = true;
      return;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    switch (phase_.load(std::memory_order_relaxed)) {
      case Phase::kWarmUp:
        Know(code_generation);
        turn->is_timed = true;
        return;
      case Phase::kHostWon:
        // Asked again: another thread may have settled it while this one waited for the mutex.
        if (IsLeftToHost(call, code_generation)) {
          turn->side = Side::kHost;
          turn->is_demoted = true;
          return;
        }
        if (is_recalled_) {
          // Its code has not run in this process.
          is_recalled_ = false;
          Know(code_generation);
          phase_.store(Phase::kWarmUp, std::memory_order_release);
          return;
        }
        BeginTrial();
        break;
      case Phase::kCompiledWon:
        SpotCheck(call, turn);
        return;
      case Phase::kTrial:
        // Other classes may have shown it meanwhile; a class that has come further shows it itself.
        if (is_first_trial_ && host_.size() < 2 && SettleByPrecedent(turn->work)) {
          turn->is_demoted = phase_.load(std::memory_order_relaxed) == Phase::kHostWon;
          if (turn->is_demoted) turn->side = Side::kHost;
          return;
        }
        break;
    }
    Know(code_generation);
    Measure(turn);
  }

  // One look at each of phase and count decides; what other threads do next changes nothing.
  bool BeginIfWon() {
    if (phase_.load(std::memory_order_acquire) != Phase::kCompiledWon ||
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
    if (phase_.load(std::memory_order_relaxed) == Phase::kCompiledWon) {
      check_at_.store(calls() + 2 * check_every_, std::memory_order_relaxed);
    }
  }

  void End(const Turn& turn, double time) {
    const Phase now = phase_.load(std::memory_order_acquire);
    const bool is_new_code = turn.artifact > artifact_.load(std::memory_order_relaxed);
    if (!turn.is_measured && now != Phase::kWarmUp && !is_new_code) return;
    std::lock_guard<std::mutex> lock(mutex_);
    if (turn.artifact > artifact_.load(std::memory_order_relaxed)) {
      artifact_.store(turn.artifact, std::memory_order_relaxed);
      if (phase_.load(std::memory_order_relaxed) == Phase::kCompiledWon) {
        if (is_recalled_) {
          precedents_.Add(turn.artifact, turn.work, ratio_);
        } else {
          CheckAfter(kFirstSpotCheck);
        }
        is_recalled_ = false;
      }
    }
    if (!turn.is_measured) {
      if (phase_.load(std::memory_order_relaxed) != Phase::kWarmUp) return;
      if (turn.side != Side::kCompiled || SettleByPrecedent(turn.work)) return;
      // The first call touches memory for the first time, and packs weights.
      if (warm_runs_ > 0) warm_time_ = std::max(warm_time_, time);
      if (++warm_runs_ >= kWarmRuns) BeginTrial();
      return;
    }
    // The host's kernels are made by its first call, and all wait for it that begin before it ends.
    if (turn.side == Side::kHost) host_has_run_.store(true, std::memory_order_release);
    if (turn.series != series_) return;
    if (turn.makes_kernels) {
      turn_order_.Restart();
      return;
    }
    if (IsFarBeyond(turn, time)) {
      Win(turn.work, warm_time_ / time, warm_time_ / time);
      return;
    }
    AddTime(turn, time);
  }

  void AddTo(Report* report) {
    std::lock_guard<std::mutex> lock(mutex_);
    switch (phase_.load(std::memory_order_relaxed)) {
      case Phase::kCompiledWon:
        ++report->compiled;
        report->won_ratios += ratio_;
        break;
      case Phase::kHostWon:
        ++report->host;
        report->worst_ratio = std::max(report->worst_ratio, ratio_);
        break;
      default:
        ++report->open;
    }
  }

  // Nothing where nothing was found out by a trial or by spot checks, here or earlier.
  std::optional<Verdict> LastVerdict(int64_t now_s) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (verdict_ && verdict_->decided_s == kJustNow) verdict_->decided_s = now_s;
    return verdict_;
  }

  const uint64_t key;

 private:
  static constexpr int64_t kJustNow = -1;

  // While an earlier verdict stands, code that appears is the code that it is about.  A thread may
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
    turn->side = turn_order_.Next();
    turn->makes_kernels =
        turn->side == Side::kHost && !host_has_run_.load(std::memory_order_acquire);
  }

  void Decide(bool compiled_won, double ratio) {
    // The same verdict once more is no news: it is written with the next one that is.
    const bool is_news = !verdict_ || verdict_->compiled_won != compiled_won;
    verdict_ = Verdict{key, compiled_won, ratio, kJustNow};
    if (is_news) has_news_.store(true, std::memory_order_relaxed);
  }

  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }

  void Forget() {
    ++series_;
    turn_order_.Restart();
    host_ = {};
    compiled_ = {};
  }

  void BeginTrial() {
    Forget();
    phase_.store(Phase::kTrial, std::memory_order_release);
  }

  bool IsFarBeyond(const Turn& turn, double time) const {
    return is_first_trial_ && turn.side == Side::kHost && warm_time_ > 0 &&
           phase_.load(std::memory_order_relaxed) == Phase::kTrial &&
           time * turn.work >= kLongCallNs && time >= kFarBeyond * warm_time_;
  }

  // `most`: the worse of what median and minimum say.
  void Win(double work, double ratio, double most) {
    losses_ = 0;
    most_between_ = CallsBetween(ratio);
    // A close result is checked again soon: that costs little.
    CheckAfter(most <= kFarAhead ? most_between_ : kFirstSpotCheck);
    precedents_.Add(artifact_.load(std::memory_order_relaxed), work, most);
    Decide(/*compiled_won=*/true, ratio);
    Settle(Phase::kCompiledWon);
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
    if (is_first_trial_ && host_.size() > 0 && compiled_.size() > 0) {
      precedents_.AddPair(artifact_.load(std::memory_order_relaxed), turn.work,
                          compiled_.last() / host_.last());
    }
    const bool is_trial = phase_.load(std::memory_order_relaxed) == Phase::kTrial;
    const size_t number = std::min(host_.size(), compiled_.size());
    if (number >= (is_trial ? kFewSamples : kSpotChecks)) Judge(turn.work, number);
  }

  void CheckAfter(uint64_t number) {
    turn_order_.Restart();
    check_every_ = number;
    check_at_.store(calls() + number, std::memory_order_relaxed);
  }

  bool SettleByPrecedent(double work) {
    const auto expected = precedents_.Find(artifact_.load(std::memory_order_relaxed), work);
    if (!expected) return false;
    if (expected->worst <= kFarAhead) {
      CheckAfter(kFirstSpotCheck);
      Settle(Phase::kCompiledWon);
      return true;
    }
    if (expected->best < kFarBehind) return false;
    ratio_ = expected->best;
    retry_at_.store(calls() + kRetryByPrecedent, std::memory_order_relaxed);
    Settle(Phase::kHostWon);
    return true;
  }

  void Judge(double work, size_t samples) {
    const double by_median = compiled_.Median() / host_.Median();
    const double by_minimum = compiled_.Minimum() / host_.Minimum();
    const double least = std::min(by_median, by_minimum);
    const double most = std::max(by_median, by_minimum);
    if (phase_.load(std::memory_order_relaxed) == Phase::kCompiledWon) {
      // Spot checks lie far apart, so their results are examined closely.
      if (least > kLoss) return BeginTrial();
      most_between_ = CallsBetween(by_median);
      Decide(/*compiled_won=*/true, by_median);
      host_ = {};
      compiled_ = {};
      return;
    }
    const bool is_enough = samples >= kManySamples;
    const uint64_t artifact = artifact_.load(std::memory_order_relaxed);
    if (most < ClearWin(samples) || (is_enough && least <= kLoss)) {
      Win(work, by_median, most);
    } else if (least > ClearLoss(samples) || (is_enough && least > kLoss)) {
      ratio_ = by_median;
      const uint64_t wait = kFirstRetry << std::min(losses_, 20);
      ++losses_;
      retry_at_.store(calls() + std::min(wait, kLastRetry), std::memory_order_relaxed);
      precedents_.Add(artifact, work, least);
      Decide(/*compiled_won=*/false, by_median);
      Settle(Phase::kHostWon);
    }
  }

  void Settle(Phase phase) {
    is_first_trial_ = false;
    Forget();
    phase_.store(phase, std::memory_order_release);
  }

  Precedents& precedents_;
  std::atomic<bool>& has_news_;
  std::atomic<bool>& host_has_run_;
  std::atomic<Phase> phase_{Phase::kWarmUp};
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> check_at_{0};  // the call that begins a spot check
  std::atomic<uint64_t> retry_at_{0};
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint64_t> artifact_{0};     // the newest that ran
  std::atomic<bool> is_recalled_{false};  // an earlier verdict stands, and its code has not run yet

  std::mutex mutex_;  // guards the members below, and changes of phase_
  uint64_t check_every_ = kSpotCheckEvery, most_between_ = kSpotCheckEvery;
  int warm_runs_ = 0;
  double warm_time_ = 0;  // the slowest but for the first
  int losses_ = 0;
  bool is_first_trial_ = true;
  uint32_t series_ = 1;  // counts trials, and spot checks that follow each other
  double ratio_ = 0;
  std::optional<Verdict> verdict_;
  TurnOrder turn_order_;
  Samples host_, compiled_;
};

Contest::~Contest() {
  for (auto& entry : classes_) delete entry.load();
}

Contest::ShapeClass* Contest::Find(uint64_t key) {
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
                         [&](const Verdict& verdict) { return verdict.shape_class == key; });
        found = new ShapeClass(key, &shared_, earlier == earlier_.end() ? nullptr : &*earlier);
        entry.store(found, std::memory_order_release);
      }
    }
    if (found->key == key) return found;
  }
  return classes_[home].load(std::memory_order_acquire);
}

Contest::Turn Contest::Begin(uint64_t shape_class, double work, uint64_t code_generation,
                             double host_extra) {
  Turn turn;
  turn.shape_class = Find(shape_class);
  turn.work = std::max(work, 1.0);
  turn.host_extra = host_extra;
  turn.shape_class->Begin(code_generation, &turn);
  if (turn.is_measured || turn.is_timed) turn.began = clock_();
  return turn;
}

void Contest::Postpone(Turn* turn) { turn->shape_class->Postpone(turn); }

std::optional<Contest::Turn> Contest::BeginIfWon(uint64_t shape_class, double work) {
  Turn turn;
  turn.shape_class = Find(shape_class);
  turn.work = std::max(work, 1.0);
  if (!turn.shape_class->BeginIfWon()) return std::nullopt;
  return turn;
}

void Contest::End(const Turn& turn) {
  double time = 0;
  if (turn.is_measured || turn.is_timed) {
    time = static_cast<double>(clock_() - turn.began);
    if (turn.side == Side::kHost) time += turn.host_extra;
  }
  turn.shape_class->End(turn, std::max(time / turn.work, 1e-9));
}

bool Contest::HasWonAny() const {
  return std::any_of(earlier_.begin(), earlier_.end(),
                     [](const Verdict& verdict) { return verdict.compiled_won; }) ||
         Summary().compiled > 0;
}

Contest::Report Contest::Summary() const {
  Report report;
  for (const auto& entry : classes_) {
    ShapeClass* const shape_class = entry.load(std::memory_order_acquire);
    if (shape_class != nullptr) shape_class->AddTo(&report);
  }
  return report;
}

std::vector<Verdict> Contest::Verdicts(int64_t now_s) const {
  std::vector<Verdict> verdicts;
  for (const auto& entry : classes_) {
    ShapeClass* const shape_class = entry.load(std::memory_order_acquire);
    if (shape_class == nullptr) continue;
    if (const auto verdict = shape_class->LastVerdict(now_s)) verdicts.push_back(*verdict);
  }
  for (const Verdict& verdict : earlier_) {
    const bool is_known = std::any_of(verdicts.begin(), verdicts.end(), [&](const Verdict& known) {
      return known.shape_class == verdict.shape_class;
    });
    if (!is_known && verdicts.size() < kMostVerdicts) verdicts.push_back(verdict);
  }
  return verdicts;
}

}  // namespace tektite::serving
