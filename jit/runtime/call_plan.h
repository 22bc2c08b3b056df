// What a call of an executable does, worked out for a set of sizes and remembered.
//
//   CallPlan plan(graph, PlanBuffers(graph, kept, roles));
//   std::shared_ptr<const SizedPlan> sized = plan.For({8, 128});   // values of the symbols
//   if (!sized->status.ok()) ...                                   // a size check failed
//   sized->launch.Run(0, sized->launch.num_steps(), working, pool, times, call_times,
//   is_cancelled);
//
// A plan for sizes that were not seen lately takes a few microseconds (3 for 120 kernels): the size
// program, a place in the arena for every buffer, a launch plan for every kernel.  The last
// kMostSized are kept, some 20 KiB each for a model of that size, so that no number of shapes makes
// a process grow.  A graph without symbols has one plan.
#ifndef TEKTITE_JIT_RUNTIME_CALL_PLAN_H_
#define TEKTITE_JIT_RUNTIME_CALL_PLAN_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jit/backend/backend.h"
#include "jit/runtime/buffer_plan.h"
#include "jit/runtime/rounds.h"
#include "jit/runtime/step_graph.h"
#include "jit/runtime/thread_team.h"

namespace tektite::runtime {

// With Executable::Options::profile, what a step took so far.
struct StepTime {
  std::atomic<int64_t> runs{0}, nanoseconds{0};
  std::atomic<int64_t> least{0};  // of one run; what others do meanwhile is in all but this
};

// A pointer of a kernel's frame: bases[base] + offset.  Base 0 is the arena, base 1 is zero
// (constants and values of sizes have fixed addresses); then come the parameters, the results and
// the weight groups.
struct Slot {
  int base = 0;
  uintptr_t offset = 0;
};

class CancelledOnce;

// Steps that are ready to run once the bases are known.
class Launch {
 public:
  Launch() = default;
  Launch(const StepGraph& graph, const std::vector<int>& steps, const std::vector<int>& rounds,
         const std::vector<Location>& locations);

  // Makes it ready for sizes of symbols, with the arena's slots at `offsets` and size value i at
  // `size_values[i]`.  Once; for other sizes a copy is wanted.  False: a kernel cannot count in
  // these sizes.
  [[nodiscard]] bool Place(absl::Span<const int64_t> sizes, absl::Span<const int64_t> offsets,
                           absl::Span<const int64_t* const> size_values);
  Slot SlotOf(const Location& location, absl::Span<const int64_t> offsets,
              absl::Span<const int64_t* const> size_values) const;

  int first_result() const { return first_result_; }
  int first_group() const { return first_group_; }
  int num_bases() const { return num_bases_; }
  // Bytes that Run wants after the arena: scratch, bases, pointers.
  int64_t working_bytes() const;
  // The bases lie where Run looks for them; `working` has working_bytes().
  uintptr_t* Bases(std::byte* working) const;
  int num_steps() const { return static_cast<int>(steps_.size()); }
  // Runs steps [begin, end), which are whole rounds.  `times` is by step, or empty; with it, there
  // must be no rounds of several steps.  `call_times` may be null.  `is_cancelled` is asked, on any
  // thread, whenever kAskNs of work are estimated to have been done; false: it said yes, and not
  // all was run.
  bool Run(int begin, int end, std::byte* working, const HostPool& pool,
           std::vector<StepTime>& times, CallTimes* call_times,
           absl::FunctionRef<bool()> is_cancelled) const;
  static constexpr double kAskNs = 1e6;

 private:
  struct Planned {
    const backend::Kernel* kernel = nullptr;
    backend::LaunchPlan launch;
    int first_slot = 0;
    int first_size = 0, num_sizes = 0;
    int step = 0;
    int round = 0;
    // Of the first step of a round of several: what runs all of them.
    std::shared_ptr<const Round> whole;
    int round_steps = 1;
  };
  void JoinRounds();
  void RunStep(ThreadTeam& team, const Planned& step, void** pointers,
               const CancelledOnce* cancelled) const;
  int first_result_ = 0, first_group_ = 0, num_bases_ = 0;
  const StepGraph* graph_ = nullptr;
  std::vector<Slot> slots_;
  // Slots whose places depend on the call's sizes; until they are known, the slots hold the offsets
  // of parts.
  std::vector<std::pair<int, Location>> moving_;
  std::vector<Planned> steps_;
  std::vector<int> symbols_;    // of the kernels, one after the other
  std::vector<int64_t> sizes_;  // their values
  int64_t scratch_bytes_ = 0;
};

// A call on given sizes.
struct SizedPlan {
  // OutOfRange: there is no code for these sizes, and why.  ResourceExhausted: they need more
  // memory than there is, or more than 64 bits to count.
  absl::Status status;
  std::vector<int64_t> sizes;
  std::vector<int64_t> size_values;
  Launch launch;
  std::vector<TensorType> results;
  std::vector<Slot> output_slots;  // where outputs that are copied or checked lie
  std::vector<int64_t> output_bytes;
  int64_t arena_bytes = 0;
  int64_t memory_bytes = 0;  // arena and working memory

  const std::byte* OutputAddress(int output, const uintptr_t* bases) const {
    const Slot& slot = output_slots[output];
    return reinterpret_cast<const std::byte*>(bases[slot.base] + slot.offset);
  }
};

// For one set of kept weight groups.  Thread-safe.
class CallPlan {
 public:
  // `graph` must outlive the plan.
  CallPlan(const StepGraph& graph, BufferPlan buffers);
  const BufferPlan& buffers() const { return buffers_; }
  std::shared_ptr<const SizedPlan> For(absl::Span<const int64_t> sizes) const;

  static constexpr size_t kMostSized = 64;

 private:
  struct Known {
    std::shared_ptr<const SizedPlan> plan;
    uint64_t last_use = 0;
  };
  std::shared_ptr<const SizedPlan> Make(absl::Span<const int64_t> sizes, Launch launch) const;
  absl::Status Fill(absl::Span<const int64_t> sizes, Launch launch, SizedPlan* plan) const;

  const StepGraph& graph_;
  const BufferPlan buffers_;
  Launch launch_;                          // of a graph with symbols, for no sizes yet
  std::shared_ptr<const SizedPlan> only_;  // of one without
  mutable std::mutex mutex_;               // guards what follows
  mutable std::shared_ptr<const SizedPlan> latest_;
  mutable absl::flat_hash_map<std::vector<int64_t>, Known> known_;
  mutable uint64_t clock_ = 0;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_CALL_PLAN_H_
