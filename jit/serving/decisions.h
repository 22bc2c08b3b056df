// The results of comparisons, in a form that outlives the process.
//
//   const std::string text = WriteDecisions(comparison.Decisions(now_s));
//   Comparison comparison(clock, ReadDecisions(text, now_s));            // in a later process
//
// Why: without them every process would ask the host's kernels again about each class of shapes.
// A line for each class: "9f3a0011aabbccdd compiled 0.412 1795311714", the class, who won, compiled
// over host time, when.  Decisions age, since machines, neighbours and data change: a win counts
// for a week, a loss, which hides how fast the code is, for a day. Limits: lines that make no sense
// are left out; kMostDecisions of them count.
#ifndef TEKTITE_JIT_SERVING_DECISIONS_H_
#define TEKTITE_JIT_SERVING_DECISIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tektite::serving {

struct Decision {
  uint64_t shape_class = 0;
  bool compiled_won = false;
  double ratio = 0;       // compiled over host time
  int64_t decided_s = 0;  // seconds since 1970
};

inline constexpr int64_t kWinCountsSeconds = int64_t{7} * 24 * 3600;
inline constexpr int64_t kLossCountsSeconds = int64_t{24} * 3600;
inline constexpr size_t kMostDecisions = 64;

std::string WriteDecisions(const std::vector<Decision>& decisions);
// Those that still count at `now_s`.
std::vector<Decision> ReadDecisions(const std::string& text, int64_t now_s);

// For people: "code won 3 of 4 classes of shapes".
std::string SummaryOf(const std::vector<Decision>& decisions);

}  // namespace tektite::serving
#endif  // TEKTITE_JIT_SERVING_DECISIONS_H_
