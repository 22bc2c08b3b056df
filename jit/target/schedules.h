// How the kernel of a fusion is made, and what a target offers.
//
//   for (const target::Offer& offer : backend.Schedules(fusion, facts)) {
//     offer.schedule.ok()     // "winograd, tile = 3x8, columns = 48, ...", or why it does not fit
//   }
//
// Why: implementations differ in what they need to be decided before code is made: how weights lie,
// whether the epilogue is a kernel of its own.  A target has one ordered list of them.  The pass
// choose_schedules asks it once for each fusion, and keeps the first that fits as the fusion's
// attribute `schedule`; what comes later reads that.
//
// Limits: a schedule holds what does not depend on sizes that may be unknown.  What does, such as
// the rows of a chunk, is an expression over sizes that the emitter computes from the schedule.
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
// The one that multiplies 16-bit floats and bytes by instructions for them.
inline constexpr char kPairs[] = "pairs";
// Convolutions of groups, which multiplies bytes as it does floats: less memory is read.
inline constexpr char kGrouped[] = "grouped";
// Products of few rows, whose pace the memory sets that holds the right-hand side.
inline constexpr char kStreamed[] = "streamed";

// How a contraction's right-hand side [k, n] lies in memory if it is weights: in panels
// [ceil(n / columns), k, columns], or [ceil(n / columns), pairs, columns, 2] with pairs of k
// (at least k / 2 of them), zero-padded, or the same with fours of k.  Weights of f32 in halves are
// two bf16 each: in a panel the pairs of all the first ones lie before those of the second ones.
struct RhsLayout {
  int64_t columns = 0;  // 0: as it is
  int64_t pairs = 0;    // 0: k one by one, or
  int64_t fours = 0;
  int64_t halves = 0;  // 2, or 0: whole numbers; `pairs` are those of one half
  // Of so many rows in a batch, two to a byte (jit/passes/nibbles.h); 0: not so.
  int64_t nibbles = 0;
  // Neighbouring k that lie together, and how many times that; 1 and 0: k one by one.
  int64_t word() const { return fours > 0 ? 4 : pairs > 0 ? 2 : 1; }
  int64_t words() const { return fours > 0 ? fours : pairs; }
  // Packed once many calls have found the weights unchanged; the kernel reads both.
  bool later = false;

  friend bool operator==(const RhsLayout& a, const RhsLayout& b) {
    return a.columns == b.columns && a.pairs == b.pairs && a.fours == b.fours &&
           a.halves == b.halves && a.nibbles == b.nibbles && a.later == b.later;
  }
};

// Accumulators of a register tile: "3x8" are three vectors in each of eight rows.
struct Tile {
  int64_t vectors = 0, rows = 0;

  std::string ToString() const;
  friend bool operator==(const Tile& a, const Tile& b) {
    return a.vectors == b.vectors && a.rows == b.rows;
  }
};

// What single implementations decide beside a tile; 0: nothing.
struct Blocks {
  int64_t channels = 0;     // whose kernels or sums are held at once
  int64_t panels = 0;       // of a chunk
  int64_t piece = 0;        // trips of the outermost loop of k in a piece
  int64_t pixels = 0;       // of a row that are computed at once
  int64_t row_vectors = 0;  // vectors of a tile of the code for one row, if there is such code
  int64_t squares = 0;      // of 2 x 2 results, at most, in a chunk
  int64_t steps = 0;        // of a sum that a unit of work takes
  int64_t taps = 0;         // that are summed at once
};

struct Schedule {
  std::string implementation = kOwn;
  RhsLayout rhs;
  Tile tile;
  Blocks blocks;
  bool copies_rhs = false;      // each chunk copies its part of the right-hand side into panels
  bool lhs_in_place = false;    // rows of pairs are read where they lie
  bool stands_alone = false;    // the epilogue is a fusion of its own (passes/apply_schedule.h)
  bool features_first = false;  // a filter's channels are innermost (passes/store_features_first.h)

  bool IsOwn() const { return implementation == kOwn; }
  // "winograd, tile = 3x8, columns = 48": the attribute's text.
  std::string Print() const;
  static absl::StatusOr<Schedule> Parse(absl::string_view text);
  friend bool operator==(const Schedule& a, const Schedule& b) { return a.Print() == b.Print(); }
};

// What the graph around a fusion says.
struct Facts {
  // Its right-hand side is weights of known shape, which can be packed before the call.
  bool rhs_is_weights = false;
  int64_t runs = 1;  // how often a call runs products of the same weights, as far as that is known
  // Also what only a measurement would prefer: other tiles, libraries.
  bool alternatives = false;
  bool is_supposed = false;  // no graph holds the fusion yet
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
