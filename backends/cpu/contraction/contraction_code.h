// The code of a contraction apart from its kernel, so that one kernel can hold two of them: a
// product of an unknown number of rows runs as a single row's where there is one, since one row
// does not win back the cost of packing its right-hand side.  ([12, n, 64] x [12, 256, 64] and [12,
// n, 256] x [12, 256, 64] for n = 1 ran at 0.38 and 0.56 of the speed of code for one row.)
#ifndef TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_CODE_H_
#define TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_CODE_H_

#include <functional>

#include "absl/status/statusor.h"
#include "backends/cpu/emit/emitter.h"
#include "jit/target/schedules.h"

namespace tektite::cpu {

struct ContractionCode {
  ir::Dim num_chunks;
  ir::Dim cost;                                      // see Cost
  std::function<absl::Status(loop::Builder&)> emit;  // a call's chunks; `fusion` lives until then
};

// Register tiles (contraction_tiling.h).
absl::StatusOr<ContractionCode> CodeForTiles(const ir::Node& fusion,
                                             const target::Schedule& schedule,
                                             const Target& target);
// Pairs of bf16 (pair_tiling.h), Unimplemented for any other.
absl::StatusOr<ContractionCode> CodeForPairs(const ir::Node& fusion,
                                             const target::Schedule& schedule,
                                             const Target& target);
// One row that streams the right-hand side, for a dot_general of an unknown number of rows;
// Unimplemented for any other.
absl::StatusOr<ContractionCode> CodeForOneRow(const ir::Node& fusion,
                                              const target::Schedule& schedule,
                                              const Target& target);

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CONTRACTION_CONTRACTION_CODE_H_
