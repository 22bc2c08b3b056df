// Rounds: loops that a team runs side by side, such as the two directions of a bidirectional layer.
//
//   std::vector<int> rounds = FormRounds(graph, num_before_updates, &steps);
//
// Loops that do not read each other's results form a round: a turn of each is a chunk
// (side_by_side.cc), so that threads meet once a turn and not after each small kernel.  Chunks are
// the loops' own, so results do not depend on rounds.
//
// Limits: tried and deleted are rounds of small kernels (1.00 and 0.99 of the time of models on one
// and two threads), and passes over blocks of rows in which kernels that read each other row by row
// took turns (no model had such layers).
#ifndef TEKTITE_JIT_RUNTIME_ROUNDS_H_
#define TEKTITE_JIT_RUNTIME_ROUNDS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "jit/runtime/step_graph.h"

namespace tektite::runtime {

// The number of its round by position in the steps, from 0 without gaps.  Loops are moved to those
// that they form a round with.  Each step from `num_before_updates` on has a round of its own.
std::vector<int> FormRounds(const StepGraph& graph, int num_before_updates,
                            std::vector<int>* steps);
// A round of its own for each step.
std::vector<int> SeparateRounds(size_t num_steps);

// The rounds of more than one step, for people: a line each.
std::string RoundsText(absl::Span<const int> steps, absl::Span<const int> rounds);

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_ROUNDS_H_
