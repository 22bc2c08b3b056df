// The results of contests, in a form that outlives the process.
//
//   const std::string text = WriteVerdicts(contest.Verdicts(now_s));
//   Contest contest(clock, ReadVerdicts(text, now_s));            // in a later process
//
// Why: without them every process would ask the host's kernels again about each class of shapes.
// A line for each class: "9f3a0011aabbccdd compiled 0.412 1795311714", the class, who won, compiled
// over host time, when.  Verdicts age, since machines, neighbours and data change: a win counts for
// a week, a loss, which hides how fast the code is, for a day.
// Limits: lines that make no sense are left out; kMostVerdicts of them count.
#ifndef TEKTITE_JIT_SERVING_VERDICTS_H_
#define TEKTITE_JIT_SERVING_VERDICTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tektite::serving {

struct Verdict {
  uint64_t shape_class = 0;
  bool compiled_won = false;
  double ratio = 0;       // compiled over host time
  int64_t decided_s = 0;  // seconds since 1970
};

inline constexpr int64_t kWinCountsSeconds = int64_t{7} * 24 * 3600;
inline constexpr int64_t kLossCountsSeconds = int64_t{24} * 3600;
inline constexpr size_t kMostVerdicts = 64;

std::string WriteVerdicts(const std::vector<Verdict>& verdicts);
// Those that still count at `now_s`.
std::vector<Verdict> ReadVerdicts(const std::string& text, int64_t now_s);

// For people: "code won 3 of 4 classes of shapes".
std::string SummaryOf(const std::vector<Verdict>& verdicts);

}  // namespace tektite::serving
#endif  // TEKTITE_JIT_SERVING_VERDICTS_H_
