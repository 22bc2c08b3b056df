// plan_buffers: where each buffer of a call lies.
//
//   ArenaLayout layout = AssignOffsets({{bytes, first_step, last_step}, ...});
//   BufferPlan plan = PlanBuffers(steps, kept_groups, num_checks);
//
// A result is written straight into the memory the host gave for it.  Everything else that is
// computed shares one arena, in which buffers that are never alive together may overlap; a step
// whose kernel allows it writes over an operand that is read for the last time.  Limits: offsets
// come from the best of a few greedy orders, within a few per cent of the lower bound on real
// graphs (max_live_bytes).
#ifndef TEKTITE_JIT_RUNTIME_BUFFER_PLAN_H_
#define TEKTITE_JIT_RUNTIME_BUFFER_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "jit/runtime/step_graph.h"

namespace tektite::runtime {

// Alive from step `first` to step `last`, both included.
struct LiveBuffer {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct ArenaLayout {
  std::vector<int64_t> offsets;  // multiples of kAlignment
  int64_t bytes = 0;
  int64_t max_live_bytes = 0;  // no layout can be smaller
};

ArenaLayout AssignOffsets(absl::Span<const LiveBuffer> buffers);

struct Location {
  enum class Base : uint8_t { kNowhere, kArena, kParameter, kConstant, kResult, kWeights };
  Base base = Base::kNowhere;
  int index = 0;       // of the parameter, the constant, the result, the weight group
  int64_t offset = 0;  // in the arena or the group's block
};

struct OutputPlan {
  // kDirect: a step writes it.  kForward: it is parameter `from`, unchanged.  kCopy: its bytes are
  // those of buffer `from`.  kCheck: a bool in the arena, which must be true.
  enum class Kind : uint8_t { kDirect, kForward, kCopy, kCheck };
  Kind kind = Kind::kDirect;
  int from = 0;
};

struct BufferPlan {
  std::vector<int> steps;           // to run in a call, in order
  std::vector<Location> locations;  // by buffer
  std::vector<OutputPlan> outputs;
  int64_t arena_bytes = 0;
  int64_t max_live_bytes = 0;
  int in_place = 0;  // results that took over an operand's memory
};

// `kept[g]`: the results of weight group g are there already, its steps do not run.  The last
// `num_checks` outputs are checks.
BufferPlan PlanBuffers(const StepGraph& graph, const std::vector<bool>& kept, int num_checks);

// Where a group's kept results lie in its block, and the temporaries of its computation in an
// arena.
struct GroupPlan {
  std::vector<Location> locations;  // by buffer: kWeights or kArena for the group's own
  int64_t block_bytes = 0;
  int64_t arena_bytes = 0;
};
GroupPlan PlanGroup(const StepGraph& graph, int group);

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_BUFFER_PLAN_H_
