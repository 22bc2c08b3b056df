// What a comparison measures: one side's times, and whose turn it is.
//
// Example(Samples& samples):
//   samples.Add(12.0);                            // of a run of two calls, the first
//   const bool is_sample = samples.Add(10.0);     // true: the faster one counts
//   const double median = samples.Median();       // 10
#ifndef TEKTITE_JIT_SERVING_COMPARISON_SAMPLES_H_
#define TEKTITE_JIT_SERVING_COMPARISON_SAMPLES_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tektite::serving {

inline constexpr int kRunOfCalls = 2;  // a sample
inline constexpr size_t kManySamples = 11;

// The durations of one side's runs of calls, in nanoseconds over work.
class Samples {
 public:
  // Returns whether the call completes a run, which is a sample.
  bool Add(double time) {
    best_ = calls_ == 0 ? time : std::min(best_, time);
    if (++calls_ < kRunOfCalls) return false;
    calls_ = 0;
    last_ = best_;
    if (times_.size() < kManySamples) times_.push_back(best_);
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
  bool NextIsHost() {
    const bool is_host = next_ < kRunOfCalls;
    next_ = (next_ + 1) % (2 * kRunOfCalls);
    return is_host;
  }
  bool IsComplete() const { return next_ == 0; }
  void Restart() { next_ = 0; }

 private:
  int next_ = 0;
};

}  // namespace tektite::serving
#endif  // TEKTITE_JIT_SERVING_COMPARISON_SAMPLES_H_
