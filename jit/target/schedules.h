// How the kernel of a fusion is made, and what a target offers.
//
//   for (const target::Offer& offer : backend.Schedules(fusion, facts)) {
//     offer.schedule.ok()     // Schedule{"winograd", "", {48}}, or why it does not fit
//   }
//
// Why: implementations differ in what they need to be decided before code is made: how weights lie,
// whether the epilogue is a kernel of its own.  A target has one ordered list of them.  The pass
// choose_schedules asks it once for each contraction and each attention, and keeps the first that
// fits as the fusion's attribute `schedule`; what comes later reads that.
#ifndef TEKTITE_JIT_TARGET_SCHEDULES_H_
#define TEKTITE_JIT_TARGET_SCHEDULES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/ir/graph.h"

namespace tektite::target {

// The general implementation of a target, which comes last.
inline constexpr char kOwn[] = "own";

// How a contraction's right-hand side [k, n] lies in memory if it is weights: in panels
// [ceil(n / columns), k, columns], or [ceil(n / columns), pairs, columns, 2] with pairs of k
// (at least k / 2 of them), zero-padded.
struct RhsLayout {
  int64_t columns = 0;  // 0: as it is
  int64_t pairs = 0;    // 0: k one by one
  // Packed once many calls have found the weights unchanged; the kernel reads both.
  bool later = false;

  friend bool operator==(const RhsLayout& a, const RhsLayout& b) {
    return a.columns == b.columns && a.pairs == b.pairs && a.later == b.later;
  }
};

struct Schedule {
  std::string implementation = kOwn;
  std::string variant;  // such as a register tile, "2x12"; empty: the implementation's own choice
  RhsLayout rhs;
  bool stands_alone = false;    // the epilogue is a fusion of its own (passes/split_epilogue.h)
  bool features_first = false;  // a filter's channels are innermost (passes/store_features_first.h)

  // "winograd", "own_2x12"
  std::string Name() const;
  bool IsOwn() const { return implementation == kOwn && variant.empty(); }
  // "winograd, columns = 48": the attribute's text.
  std::string Print() const;
  static absl::StatusOr<Schedule> Parse(absl::string_view text);
};

// What the graph around a fusion says.
struct Facts {
  // Its right-hand side is weights of known shape, which can be packed before the call.
  bool rhs_is_weights = false;
  int64_t runs = 1;  // how often a call runs products of the same weights, as far as that is known
  // Also what only a measurement would prefer: other tiles, libraries.
  bool alternatives = false;
};

struct Offer {
  absl::string_view implementation;  // of a list that lives as long as the program
  absl::StatusOr<Schedule> schedule;
};

using Schedules = std::function<std::vector<Offer>(const ir::Node& fusion, const Facts& facts)>;

// The fusion's attribute; the general implementation where it has none.
Schedule ScheduleOf(const ir::Node& fusion);
void SetSchedule(const Schedule& schedule, ir::Node* fusion);

}  // namespace tektite::target

#endif  // TEKTITE_JIT_TARGET_SCHEDULES_H_
