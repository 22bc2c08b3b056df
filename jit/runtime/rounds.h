// Rounds: steps that a team runs as one kernel, so that threads meet once and not after each.
//
//   Rounds rounds = FormRounds(graph, num_before_updates, options, &steps);
//   std::shared_ptr<const Round> round = Round::Create(kind, members, locals, num_slots);
//   team.Run(*round, round->Plan({}), pointers, sizes);
//
// Side by side: small steps that do not read each other's results offer their chunks together,
// where otherwise one thread would run each while others wait.  (96 kernels of about 0.4 us on two
// threads: 34 us became 20.)
//
// A pass over blocks of rows: kernels of which each reads those before it by row (backend::Bands).
// A block goes through all of them before the next is begun, and what lies between two of them is
// never whole: a worker keeps its block's rows in scratch, and so in its caches.  A kernel finds
// them since it is given the address at which the array would begin.  That pays where arrays are
// larger than caches: four dense layers of width 64, each with its normalization, on 400,000 rows
// took 110 ms instead of 125 on one thread, 61 instead of 77 on two, and no memory where it was 700
// MB. Arrays that L3 holds are left alone: MobileNetV2 became slower.
//
// Chunks are the kernels' own, so results do not depend on rounds.
#ifndef TEKTITE_JIT_RUNTIME_ROUNDS_H_
#define TEKTITE_JIT_RUNTIME_ROUNDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "jit/backend/backend.h"
#include "jit/runtime/step_graph.h"

namespace tektite::runtime {

class Round final : public backend::Kernel {
 public:
  enum class Kind : uint8_t { kSideBySide, kPass };
  struct Member {
    const backend::Kernel* kernel = nullptr;
    backend::LaunchPlan plan;
    int first_slot = 0;  // its buffers among the round's
    int first_size = 0;  // its sizes among the round's
  };
  // An array of which a pass holds no more than a block.
  struct Local {
    int64_t bytes = 0;            // of the whole
    int first = 0, last = 0;      // members that write and read it
    std::vector<int> slots = {};  // where they find it among the round's buffers
  };
  // Null for a pass if the members' chunks do not make blocks of rows that fit each other, or such
  // that do not fit into L2.
  static std::shared_ptr<const Round> Create(Kind kind, std::vector<Member> members,
                                             std::vector<Local> locals, int num_slots);

  Kind kind() const { return kind_; }
  // For the sizes it was made for, whatever `sizes` says.
  backend::LaunchPlan Plan(absl::Span<const int64_t> sizes) const override { return plan_; }
  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override;

 private:
  Round(Kind kind, std::vector<Member> members, std::vector<Local> locals, int num_slots);
  bool FindBlocks();
  bool PlaceLocals();
  void RunBlock(const backend::KernelFrame& frame, int64_t block) const;

  const Kind kind_;
  const std::vector<Member> members_;
  const std::vector<Local> locals_;
  const int num_slots_;
  int64_t block_rows_ = 0;
  std::vector<int64_t> offsets_;  // of the locals, in scratch
  backend::LaunchPlan plan_;
};

struct RoundOptions {
  bool join = true;  // false: every step has a round of its own
  // A pass has at least so many blocks, enough for many threads to end together, and what it keeps
  // out of memory is worth it.
  int64_t least_blocks = 64;
  int64_t least_bytes_saved = 32 << 20;
};

struct Rounds {
  std::vector<int> of_step;  // by position in the steps, from 0 without gaps
  std::vector<bool> local;   // by buffer: see Round::Local
};
// Small steps are moved to those that they form a round with.  Each step from `num_before_updates`
// on has a round of its own.
Rounds FormRounds(const StepGraph& graph, int num_before_updates, const RoundOptions& options,
                  std::vector<int>* steps);
// Without any.
Rounds SeparateRounds(const StepGraph& graph, size_t num_steps);

// What the steps of one round are to each other.
Round::Kind KindOf(const StepGraph& graph, absl::Span<const int> steps);
// The arrays that a round of these steps keeps to itself, with slots as Launch lays them out.
std::vector<Round::Local> LocalsOf(const StepGraph& graph, absl::Span<const int> steps,
                                   const std::vector<bool>& local);

backend::LaunchPlan PlanAtTypicalSizes(const StepGraph& graph, const Step& step);
// The rounds of more than one step, for people: a line each.
std::string RoundsText(const StepGraph& graph, absl::Span<const int> steps, const Rounds& rounds);

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_ROUNDS_H_
