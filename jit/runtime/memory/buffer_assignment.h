// plan_buffers: where each buffer of a call lies.
//
//   BufferAssignment plan = AssignBuffers(steps, kept_groups, roles);
//   // In each call:
//   if (auto bytes = SlotBytes(steps, plan, table)) layout = plan.arena.Place(*bytes);
//
// A result is written straight into the host's memory for it.  Everything else that is computed
// shares one arena (arena_layout.h); a step whose kernel allows it writes over an operand that is
// read for the last time.  The plan serves every value of the graph's symbols: who shares memory is
// decided by provably equal sizes, and only offsets differ from call to call.
//
// Updates, new values of the host's variables, come last: the steps that write them, and the steps
// that depend on those, follow all other steps, so that a call changes no variable before the last
// step that can fail.  An update may be written over the old value itself where the plan says so.
#ifndef TEKTITE_JIT_RUNTIME_MEMORY_BUFFER_ASSIGNMENT_H_
#define TEKTITE_JIT_RUNTIME_MEMORY_BUFFER_ASSIGNMENT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "jit/runtime/memory/arena_layout.h"
#include "jit/runtime/rounds.h"
#include "jit/runtime/step_graph.h"

namespace tektite::runtime {

struct Location {
  enum class Base : uint8_t { kNowhere, kArena, kParameter, kConstant, kResult, kWeights, kSizes };
  Base base = Base::kNowhere;
  int index = 0;       // of the arena's slot, parameter, constant, result, weight group, size value
  int64_t offset = 0;  // in the group's block

  friend bool operator==(const Location& a, const Location& b) {
    return a.base == b.base && a.index == b.index && a.offset == b.offset;
  }
};

struct OutputSource {
  // kDirect: a step writes it.  kForward: it is parameter `from`, unchanged.  kCopy: its bytes are
  // those of buffer `from`.  kRows: its first rows are those of its buffer, as many as output
  // `from` says.  kCount: such a number, not for the host.  kCheck: a bool that must be true.
  enum class Kind : uint8_t { kDirect, kForward, kCopy, kRows, kCount, kCheck };
  Kind kind = Kind::kDirect;
  int from = 0;
};

// The roles of a graph's outputs: results; then for some of them how many rows they have, an s64
// scalar each; then checks, bools that must be true; then updates, new values of arguments.
struct OutputRoles {
  std::vector<int> counted;  // results, in the order of their counts
  int num_checks = 0;
  std::vector<int> updated;  // parameters, in the order of their updates
  int num_added_checks = 0;  // of the checks: a pass's, which code does without if they must fail
};

struct UpdatePlace {
  int parameter = 0;
  int output = 0;
  bool in_place = false;  // the parameter's own memory may receive the new value
};

struct BufferAssignment {
  std::vector<int> steps;           // to run in a call, in order
  std::vector<int> rounds;          // by position in the steps, see FormRounds
  int num_before_updates = 0;       // of them, those that run while nothing has been changed
  std::vector<Location> locations;  // by buffer
  std::vector<OutputSource> outputs;
  std::vector<UpdatePlace> updates;
  std::vector<int> slots;  // by slot of the arena: a buffer that lies there, all are of one size
  ArenaOrder arena;
  int in_place = 0;  // results that took over an operand's memory
};

// Bytes of the arena's slots when the graph's program has left `table`; nothing where one has more
// than kMostBytes.
std::optional<std::vector<int64_t>> SlotBytes(const StepGraph& graph, const BufferAssignment& plan,
                                              absl::Span<const int64_t> table);

// `kept[g]`: the results of weight group g are there already, its steps do not run; nor do those of
// deferred groups, whatever `kept` says.  Without
// `forms_rounds` every step has a round of its own.
BufferAssignment AssignBuffers(const StepGraph& graph, const std::vector<bool>& kept,
                               const OutputRoles& roles, bool forms_rounds = true);

// Where a group's kept results lie in its block, and the temporaries of its computation in an
// arena.
struct GroupAssignment {
  std::vector<Location> locations;  // by buffer: kWeights or kArena for the group's own
  int64_t block_bytes = 0;
  ArenaLayout arena;
};
GroupAssignment AssignGroup(const StepGraph& graph, int group);

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_MEMORY_BUFFER_ASSIGNMENT_H_
