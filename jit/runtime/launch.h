// The steps of a call, ready to be launched on a stream once the bases of their buffers are known.
//
//   Launch launch(graph, residence, assigned.steps, assigned.rounds, assigned.locations);
//   if (!launch.Place(sizes, layout, table)) ...
//   launch.Run(0, launch.num_steps(), bases, pointers, stream, pool, /*watch=*/nullptr);
//
// A turn of a loop costs its launches, one copy of a bool to the host, and some nanoseconds for
// each operand that changes places: nothing is planned or allocated.  A value that a loop carries
// and its body does not write in place lies in two buffers in turn; after an odd number of turns it
// is copied into the first, where later steps read it.
#ifndef TEKTITE_JIT_RUNTIME_LAUNCH_H_
#define TEKTITE_JIT_RUNTIME_LAUNCH_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jit/backend/stream.h"
#include "jit/runtime/memory/buffer_assignment.h"
#include "jit/runtime/rounds.h"
#include "jit/runtime/step_graph.h"

namespace tektite::runtime {

// With Executable::Options::profile, what a step took so far.
struct StepTime {
  std::atomic<int64_t> runs{0}, nanoseconds{0};
  std::atomic<int64_t> least{0};   // of one run: the least disturbed by other threads
  std::atomic<int64_t> latest{0};  // when the latest run began, by Nanoseconds()
  // Of a run that stands for `weight` runs.
  void Add(int64_t began, int64_t took, int64_t weight);
};

// Is told of the steps of a launch, loops' turns included, which are then waited for one by one.
// Not of those of loops that run side by side.
class StepWatch {
 public:
  virtual ~StepWatch() = default;
  virtual void Begins(int step) = 0;
  virtual void Ran(int step, int64_t began, int64_t took) = 0;
};

// Measures one step by the device's own events where the stream has them: a wait of the host for a
// card takes some 40 us, more than most kernels.
class StepClock {
 public:
  // One that does not run costs nothing and is not asked.
  StepClock(bool runs, bool on_host, backend::Stream& stream);
  // Waits for the stream.  Negative: it failed.
  int64_t NanosecondsUntilItHasRun() const;
  int64_t began() const { return begin_nanoseconds_; }

 private:
  backend::Stream& stream_;
  std::unique_ptr<backend::Event> begin_;
  int64_t begin_nanoseconds_ = 0;
};

// Where a graph's kernels find buffers that belong to no call.
struct Residence {
  const backend::Memory* memory = nullptr;
  std::vector<const void*> constants = {};  // the graph's, in that memory
};

// An address in any device's memory, as launches compute with it.
inline uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// An operand or result of a launch: bases[base] + offset.
struct Slot {
  // The bases in order: the arena, of which the last block; zero, for constants, which have fixed
  // addresses; the values of sizes; then the parameters, the results, the weight groups and the
  // arena's other blocks.
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

  // Makes it ready for sizes of symbols, of which the graph's program has left `table`, and for the
  // arena's layout.  Once: other sizes need a copy.  False: a kernel cannot count in these sizes.
  // Only loops and choices need the table.
  [[nodiscard]] bool Place(absl::Span<const int64_t> sizes, const ArenaLayout& layout,
                           absl::Span<const int64_t> table = {});
  Slot SlotOf(const Location& location, const ArenaLayout& layout) const;

  int first_result() const { return first_result_; }
  int first_group() const { return first_group_; }
  // Of the arena's blocks but the last.
  int first_block() const { return first_block_; }
  int num_bases() const { return num_bases_; }
  // Whether a step has a slot of this base.
  bool Reads(int base) const { return reads_[base]; }
  int num_slots() const { return static_cast<int>(slots_.size()); }
  int num_steps() const { return num_steps_; }
  bool has_loops() const { return !controls_.empty(); }
  // The most that a launch needs, aligned.
  int64_t scratch_bytes() const { return backend::AlignUp(scratch_bytes_); }
  // Estimated for one core.
  double CostNs(int begin, int end) const;
  // Launches steps [begin, end), which are whole rounds.  `bases` are num_bases() addresses in the
  // device's memory; `pointers` has room for num_slots(), which it fills, and must stay until the
  // stream has been synchronized.  `watch` may be null.  `pool` is for steps of another device that
  // the host runs; an error is theirs, the stream's own are returned when it is synchronized.
  absl::Status Run(int begin, int end, const uintptr_t* bases, void** pointers,
                   backend::Stream& stream, const backend::HostPool& pool, StepWatch* watch) const;

 private:
  // Positions in steps_.
  struct Range {
    int begin = 0, end = 0;
  };
  struct PreparedStep {
    const backend::Kernel* kernel = nullptr;  // null: of copies and control steps
    bool is_host_side = false;
    backend::LaunchConfig launch;
    int first_slot = 0;
    int first_size = 0, num_sizes = 0;
    int step = 0;
    int round = 0;
    int control = -1;
    int bytes_place = -1;  // of a copy, in the program's table
    int64_t bytes = 0;
    int round_steps = 1;
  };
  // A slot that turns of a loop find in turn at a result's two places, `part` bytes into each.
  struct Toggle {
    int slot = 0;
    int result = 0;
    uintptr_t part = 0;
  };
  // A control step's own slots are its operands, its results, and its regions' outputs.
  struct Control {
    bool is_loop = false;
    bool by_number = false;  // a choice by an s32, not by a bool
    int num_operands = 0, num_results = 0;
    std::vector<Range> regions;
    std::vector<int> places;                   // of the results' bytes, in the program's table
    std::vector<int64_t> bytes;                // of the results
    std::vector<std::vector<Toggle>> toggles;  // of a loop, by region
    double turn_ns = 0;                        // of all regions, on one core
    double divisible_ns = 0;                   // of that, in launches that threads share
  };
  // A loop that has begun.  A turn's pointers are those of the first one, flipped for every second
  // turn.
  struct Turning {
    const PreparedStep* step;
    const Control* loop;
    bool is_odd = false, body_is_odd = false;
    bool goes_on = true;
  };
  class Turns;
  // The facts about slots that are needed while they are made.
  struct Building {
    struct Made {
      Location location;
      uintptr_t part;
    };
    const std::vector<Location>& locations;  // by buffer
    std::vector<Made> slots;
  };
  // The arguments of a launch; all of them are borrowed.
  struct Context {
    void** pointers;
    backend::Stream& stream;
    const backend::HostPool& pool;
    StepWatch* watch;      // may be null
    absl::Status& status;  // of steps on the host's side
  };

  void AddStep(const StepGraph& graph, int s, int round, Building* building);
  void AddRegions(const StepGraph& graph, int position, Building* building);
  void FindToggles(const Building& building);
  void AddToggles(const PreparedStep& step, Range range, const Building& building,
                  std::vector<Toggle>* toggles) const;
  void PlaceControls(absl::Span<const int64_t> table);
  // Of the range, estimated for one core: what threads share.
  double DivisibleNs(Range range) const;
  void JoinRounds();
  // Where the slots and the sizes of the steps before `end` end.
  int EndOfSlots(int end) const;
  int EndOfSizes(int end) const;
  void SetPointers(Range range, const uintptr_t* bases, void** pointers) const;
  // False: the stream has ended with an error, which it keeps, or the context's status is one.
  bool RunSteps(Range range, const Context& context) const;
  bool RunControl(const PreparedStep& step, const Context& context) const;
  bool RunLoop(const PreparedStep& step, const Context& context) const;
  Turning BeginLoop(const PreparedStep& step, const Context& context) const;
  bool RunTurn(Turning* turning, const Context& context) const;
  void EndLoop(Turning* turning, const Context& context) const;
  // side_by_side.cc: the `round_steps` loops from `first` on.
  bool RunLoops(const PreparedStep& first, const Context& context) const;
  bool PaysSideBySide(const PreparedStep& first, int num_threads) const;
  bool RunChoice(const PreparedStep& step, const Control& choice, const Context& context) const;
  static void Flip(const std::vector<Toggle>& toggles, const Control& loop, void* const* results,
                   void** pointers);

  // The place in the arena's blocks that has this offset in the arena.
  Slot SlotAt(int64_t offset, absl::Span<const int64_t> blocks) const;

  int first_result_ = 0, first_group_ = 0, first_block_ = 0, num_bases_ = 0, num_steps_ = 0;
  const Residence* residence_ = nullptr;
  std::vector<bool> reads_;             // by base
  std::vector<uintptr_t> size_values_;  // offsets among the values of sizes
  std::vector<Slot> slots_;
  // Slots in the arena; until the call's sizes are known, the slots hold the offsets of parts.
  std::vector<std::pair<int, Location>> moving_;
  std::vector<PreparedStep> steps_;  // then those of regions, each region's together
  std::vector<Control> controls_;
  std::vector<int> symbols_;    // of the kernels, one after the other
  std::vector<int64_t> sizes_;  // their values
  int64_t scratch_bytes_ = 0;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_LAUNCH_H_
