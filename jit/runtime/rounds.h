// Rounds: small steps that a team runs as one kernel, so that threads meet once and not after each.
//
//   std::vector<int> rounds = FormRounds(graph, num_before_updates, &steps);
//   const Round round(members);
//   stream.Launch(round, round.Plan({}), pointers, sizes);
//
// Steps that do not read each other's results offer their chunks together, where otherwise one
// thread would run each while the other threads wait.  (96 kernels of about 0.4 us on two threads:
// 34 us became 20.)  Chunks are the kernels' own, so results do not depend on rounds.
//
// Loops that do not read each other's results form rounds, too: their turns are chunks
// (side_by_side.cc).  (The two directions of a bidirectional layer.)
//
// A pass over blocks of rows, in which kernels that read each other row by row took turns, was
// tried and deleted: four dense layers on 400,000 rows took 110 ms instead of 125, and no model had
// such layers.
#ifndef TEKTITE_JIT_RUNTIME_ROUNDS_H_
#define TEKTITE_JIT_RUNTIME_ROUNDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "jit/backend/backend.h"
#include "jit/runtime/step_graph.h"

namespace tektite::runtime {

class Round final : public backend::HostKernel {
 public:
  struct Member {
    const backend::HostKernel* kernel = nullptr;
    backend::LaunchPlan plan;
    int first_slot = 0;  // its buffers among the round's
    int first_size = 0;  // its sizes among the round's
  };
  explicit Round(std::vector<Member> members);

  // For the sizes it was made for; ignores `sizes`.
  backend::LaunchPlan Plan(absl::Span<const int64_t> sizes) const override { return plan_; }
  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override;

 private:
  const std::vector<Member> members_;
  backend::LaunchPlan plan_;
};

// The number of its round by position in the steps, from 0 without gaps.  Small steps are moved to
// those that they form a round with.  Each step from `num_before_updates` on has a round of its
// own.
std::vector<int> FormRounds(const StepGraph& graph, int num_before_updates,
                            std::vector<int>* steps);
// A round of its own for each step.
std::vector<int> SeparateRounds(size_t num_steps);

backend::LaunchPlan PlanAtTypicalSizes(const StepGraph& graph, const Step& step);
// The rounds of more than one step, for people: a line each.
std::string RoundsText(absl::Span<const int> steps, absl::Span<const int> rounds);

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_ROUNDS_H_
