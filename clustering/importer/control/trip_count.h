// How often a loop turns, and how the values that it counts with change, from its regions.
//
//   condition: and(compare(%i, 10) lt, compare(%k, n) lt)     body: %i + 1, ..., %k + 1
//   both from 0                     // turns: min(10, n), exact
//
// A condition may also be a choice between a value and false, as AutoGraph makes it of a break.
//
// Limits: counters are integer scalars that a turn changes by a constant; of a condition that asks
// for more than that only an upper bound of the turns is known.
#ifndef TEKTITE_CLUSTERING_IMPORTER_CONTROL_TRIP_COUNT_H_
#define TEKTITE_CLUSTERING_IMPORTER_CONTROL_TRIP_COUNT_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "clustering/importer/tensor_info.h"

namespace tektite::importer {

struct TripCount {
  std::optional<Dim> turns;  // at most; nothing: no bound is known
  bool exact = false;
  // By carried value: what each turn adds to it; nothing for those that do not count.
  std::vector<std::optional<int64_t>> steps;
  // Of those that only some turns change: the most that a turn adds, where none takes away.
  std::vector<std::optional<int64_t>> most;
};

// The integer scalar as a size; nothing where it is not known.
std::optional<Dim> SizeOf(Value value);

// What `next` has more than `value`, a constant; nothing where that is not known.
std::optional<int64_t> StepBetween(Value value, Value next);

// The values that a region takes, one for each carried value.
using Parameters = absl::Span<const Value>;

// `again` is the condition's result, `next` the body's.  `entering`: the values of the counters
// before the first turn, where they are known.
TripCount CountTurns(Parameters of_condition, Value again, Parameters of_body,
                     absl::Span<const Value> next, absl::Span<const std::optional<Dim>> entering);

}  // namespace tektite::importer

#endif  // TEKTITE_CLUSTERING_IMPORTER_CONTROL_TRIP_COUNT_H_
