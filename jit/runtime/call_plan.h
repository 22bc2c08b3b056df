// What a call of an executable does, worked out for a set of sizes and remembered.
//
//   CallPlan plan(graph, residence, PlanBuffers(graph, kept, roles));
//   std::shared_ptr<const SizedPlan> sized = plan.For({8, 128});   // values of the symbols
//   if (!sized->status.ok()) ...                                   // a size check failed
//   sized->launch.Run(0, sized->launch.num_steps(), bases, pointers, stream, times);
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
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jit/backend/stream.h"
#include "jit/runtime/buffer_plan.h"
#include "jit/runtime/rounds.h"
#include "jit/runtime/step_graph.h"

namespace tektite::runtime {

// With Executable::Options::profile, what a step took so far.
struct StepTime {
  std::atomic<int64_t> runs{0}, nanoseconds{0};
  std::atomic<int64_t> least{0};  // of one run; what others do meanwhile is in all but this
  void Add(int64_t took);
};

// Where a graph's kernels find what is not of a call.
struct Residence {
  const backend::Memory* memory = nullptr;
  std::vector<const void*> constants = {};  // the graph's, in that memory
};

// An address in any device's memory, as launches compute with it.
inline uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// An operand or result of a launch: bases[base] + offset.
struct Slot {
  // The bases in order: the arena; zero, for constants, which have fixed addresses; the values of
  // sizes; then the parameters, the results and the weight groups.
  enum : int { kArena, kAbsolute, kSizeValues, kFirstParameter };
  int base = kAbsolute;
  uintptr_t offset = 0;
};

// Steps that are ready to run once the bases are known.
class Launch {
 public:
  Launch() = default;
  // The residence must outlive the launch.  Rounds of several steps are for the host's device,
  // whose kernels are HostKernels.
  Launch(const StepGraph& graph, const Residence& residence, const std::vector<int>& steps,
         const std::vector<int>& rounds, const std::vector<Location>& locations);

  // Makes it ready for sizes of symbols, with the arena's slots at `offsets`.  Once: other sizes
  // need a copy.  False: a kernel cannot count in these sizes.
  [[nodiscard]] bool Place(absl::Span<const int64_t> sizes, absl::Span<const int64_t> offsets);
  Slot SlotOf(const Location& location, absl::Span<const int64_t> offsets) const;

  int first_result() const { return first_result_; }
  int first_group() const { return first_group_; }
  int num_bases() const { return num_bases_; }
  // Whether a step has a slot of this base.
  bool Reads(int base) const { return reads_[base]; }
  int num_slots() const { return static_cast<int>(slots_.size()); }
  int num_steps() const { return static_cast<int>(steps_.size()); }
  // The most that a launch needs, aligned.
  int64_t scratch_bytes() const { return backend::AlignUp(scratch_bytes_); }
  // Estimated for one core.
  double CostNs(int begin, int end) const;
  // Launches steps [begin, end), which are whole rounds.  `bases` are num_bases() addresses in the
  // device's memory; `pointers` has room for num_slots(), which it fills, and must stay until the
  // stream has been synchronized.  `times` is by step, or empty; with it, there must be no rounds
  // of several steps, and each step is waited for.
  void Run(int begin, int end, const uintptr_t* bases, void** pointers, backend::Stream& stream,
           std::vector<StepTime>& times) const;

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
  // Where the slots and the sizes of the steps before `end` end.
  int EndOfSlots(int end) const;
  int EndOfSizes(int end) const;
  int first_result_ = 0, first_group_ = 0, num_bases_ = 0;
  const Residence* residence_ = nullptr;
  std::vector<bool> reads_;             // by base
  std::vector<uintptr_t> size_values_;  // offsets among the values of sizes
  std::vector<Slot> slots_;
  // Slots in the arena; until the call's sizes are known, the slots hold the offsets of parts.
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
  std::vector<int64_t> parameter_bytes;  // empty for the host's memory, where nothing is copied
  int64_t arena_bytes = 0;
  int64_t memory_bytes = 0;  // arena and scratch

  // In the device's memory.
  const void* OutputAddress(int output, const uintptr_t* bases) const {
    const Slot& slot = output_slots[output];
    return reinterpret_cast<const void*>(bases[slot.base] + slot.offset);
  }
};

// For one set of kept weight groups.  Thread-safe.
class CallPlan {
 public:
  // The graph and the residence must outlive the plan.
  CallPlan(const StepGraph& graph, const Residence& residence, BufferPlan buffers);
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
  const Residence& residence_;
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
