#include "jit/runtime/memory/buffer_assignment.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "jit/base/saturating.h"
#include "jit/runtime/memory/host_memory.h"
#include "jit/runtime/memory/in_place.h"
#include "jit/runtime/memory/lifetimes.h"
#include "jit/runtime/rounds.h"

namespace tektite::runtime {
namespace {

struct ArenaSlots {
  std::vector<int> buffers;  // one of each slot
  ArenaOrder order;
};

// Assigns a slot of the arena to every buffer of `steps` that has no location yet.
ArenaSlots PlaceInArena(const StepGraph& graph, const Timeline& times, const Lifetimes& lifetimes,
                        SharedMemory* memory, std::vector<Location>* locations) {
  ArenaSlots slots;
  std::vector<int> slot_of(graph.buffers.size(), -1);
  std::vector<LiveBuffer> live;
  for (int b = 0; b < static_cast<int>(graph.buffers.size()); ++b) {
    if (lifetimes.first[b] < 0 || (*locations)[b].base != Location::Base::kNowhere) continue;
    int& slot = slot_of[memory->Find(b)];
    if (slot < 0) {
      slot = static_cast<int>(live.size());
      live.push_back({graph.buffers[b].typical_bytes, lifetimes.first[b], lifetimes.last[b]});
      slots.buffers.push_back(b);
    }
    live[slot].first = std::min(live[slot].first, lifetimes.first[b]);
    live[slot].last = std::max(live[slot].last, lifetimes.last[b]);
    (*locations)[b] = {Location::Base::kArena, slot, 0};
  }
  for (LiveBuffer& buffer : live) times.Overlap(&buffer.first, &buffer.last);
  slots.order = ArenaOrder(live);
  return slots;
}

std::vector<Location> FixedLocations(const StepGraph& graph) {
  std::vector<Location> locations(graph.buffers.size());
  for (size_t b = 0; b < graph.buffers.size(); ++b) {
    const Buffer& buffer = graph.buffers[b];
    if (buffer.kind == Buffer::Kind::kParameter) {
      locations[b] = {Location::Base::kParameter, buffer.index, 0};
    } else if (buffer.kind == Buffer::Kind::kConstant) {
      locations[b] = {Location::Base::kConstant, buffer.index, 0};
    } else if (buffer.kind == Buffer::Kind::kSizes) {
      locations[b] = {Location::Base::kSizes, buffer.index, 0};
    }
  }
  return locations;
}

// Offsets of a group's kept buffers in its block; returns the block's size.
int64_t PlaceKept(const StepGraph& graph, int group, std::vector<Location>* locations) {
  int64_t bytes = 0;
  for (int b : graph.groups[group].kept) {
    (*locations)[b] = {Location::Base::kWeights, group, bytes};
    bytes = SaturatingAdd(bytes, AlignUp(graph.buffers[b].typical_bytes));
  }
  return bytes;
}

// Where the kinds of outputs begin; see OutputRoles.
struct OutputRanges {
  int first_count, first_check, first_update;

  OutputRanges(const StepGraph& graph, const OutputRoles& roles)
      : first_update(static_cast<int>(graph.outputs.size() - roles.updated.size())) {
    first_check = first_update - roles.num_checks;
    first_count = first_check - static_cast<int>(roles.counted.size());
  }
};

// Values on the way from a variable's old value to its update, each of which is written over the
// one before: where a variable changes several times, only the last value is an output.
class EarlierValues {
 public:
  EarlierValues(const StepGraph& graph, const BufferAssignment& plan)
      : graph_(graph), plan_(plan), last_reader_(graph.buffers.size(), -1) {
    for (int s : plan.steps) {
      for (int b : graph.steps[s].operands) last_reader_[b] = s;
    }
    for (const GraphOutput& output : graph.outputs) last_reader_[output.buffer] = kTheHost;
  }

  // Adds those between the parameter and `b`, which is a step's result, to `updated`.
  void AddTo(std::vector<bool>* updated, int parameter, int b) {
    seen_.assign(graph_.buffers.size(), false);
    std::vector<int> chain;
    if (!LeadsTo(b, parameter, &chain)) return;
    for (int earlier : chain) (*updated)[earlier] = true;
  }

 private:
  static constexpr int kTheHost = -2;

  bool LeadsTo(int b, int parameter, std::vector<int>* chain) {
    const int s = graph_.buffers[b].index;
    const Step& step = graph_.steps[s];
    const int r = static_cast<int>(std::find(step.results.begin(), step.results.end(), b) -
                                   step.results.begin());
    for (int from : step.operands) {
      const Buffer& buffer = graph_.buffers[from];
      if (buffer.kind == Buffer::Kind::kParameter && buffer.index == parameter) return true;
    }
    for (int from : step.operands) {
      if (seen_[from] || graph_.buffers[from].kind != Buffer::Kind::kComputed ||
          plan_.locations[from].base != Location::Base::kNowhere || last_reader_[from] != s ||
          !TakesOver(graph_, step, r, from)) {
        continue;
      }
      seen_[from] = true;
      chain->push_back(from);
      if (LeadsTo(from, parameter, chain)) return true;
      chain->pop_back();
    }
    return false;
  }

  const StepGraph& graph_;
  const BufferAssignment& plan_;
  std::vector<int> last_reader_;  // by buffer
  std::vector<bool> seen_;
};

// Moves the steps that write such buffers, and those that read what such steps write, behind all
// other steps, unless a check or a number of rows depends on them: these have to be known before.
bool PutLast(const StepGraph& graph, const OutputRanges& ranges, const std::vector<bool>& written,
             BufferAssignment* plan) {
  std::vector<bool> late = written;  // by buffer: computed after the first update
  const auto is_late = [&](int b) { return late[b]; };
  std::vector<int> first, last;
  for (int s : plan->steps) {
    const Step& step = graph.steps[s];
    if (std::none_of(step.results.begin(), step.results.end(), is_late) &&
        std::none_of(step.operands.begin(), step.operands.end(), is_late)) {
      first.push_back(s);
      continue;
    }
    for (int b : step.results) late[b] = true;
    last.push_back(s);
  }
  const int first_early = ranges.first_count < ranges.first_check ? 0 : ranges.first_check;
  for (int k = first_early; k < ranges.first_update; ++k) {
    if (late[graph.outputs[k].buffer]) return false;
  }
  plan->num_before_updates = static_cast<int>(first.size());
  plan->steps = std::move(first);
  plan->steps.insert(plan->steps.end(), last.begin(), last.end());
  return true;
}

// Moves the steps that write updates last.  By buffer: whether a step writes it straight into a
// variable.  None is where a check depends on an update.
std::vector<bool> PutUpdatesLast(const StepGraph& graph, const OutputRoles& roles,
                                 const OutputRanges& ranges, BufferAssignment* plan) {
  std::vector<bool> last(graph.buffers.size());
  std::vector<bool> all(graph.buffers.size());
  EarlierValues earlier(graph, *plan);
  for (size_t i = 0; i < roles.updated.size(); ++i) {
    const int b = graph.outputs[ranges.first_update + i].buffer;
    if (graph.buffers[b].kind != Buffer::Kind::kComputed ||
        plan->locations[b].base != Location::Base::kNowhere) {
      continue;
    }
    last[b] = all[b] = true;
    earlier.AddTo(&all, roles.updated[i], b);
  }
  if (PutLast(graph, ranges, all, plan)) return all;
  if (PutLast(graph, ranges, last, plan)) return last;
  plan->num_before_updates = static_cast<int>(plan->steps.size());
  return std::vector<bool>(graph.buffers.size());
}

// How each output comes about, and which buffers lie in the host's memory for it.
void AssignOutputs(const StepGraph& graph, const OutputRoles& roles, const OutputRanges& ranges,
                   const Lifetimes& lifetimes, const std::vector<bool>& updated,
                   SharedMemory* memory, BufferAssignment* plan) {
  std::vector<int> result_of(graph.buffers.size(), -1);  // by root of shared memory
  std::vector<int> count_of(ranges.first_count, -1);
  for (int i = ranges.first_count; i < ranges.first_check; ++i) {
    count_of[roles.counted[i - ranges.first_count]] = i;
  }
  for (int k = 0; k < static_cast<int>(graph.outputs.size()); ++k) {
    const int b = graph.outputs[k].buffer;
    const Buffer& buffer = graph.buffers[b];
    OutputSource output{OutputSource::Kind::kCopy, b};
    if (k >= ranges.first_update) {
      if (updated[b] && result_of[memory->Find(b)] < 0) output.kind = OutputSource::Kind::kDirect;
    } else if (k >= ranges.first_check) {
      output.kind = OutputSource::Kind::kCheck;
    } else if (k >= ranges.first_count) {
      output.kind = OutputSource::Kind::kCount;
    } else if (count_of[k] >= 0) {
      output = {OutputSource::Kind::kRows, count_of[k]};
    } else if (buffer.kind == Buffer::Kind::kParameter) {
      if (graph.shapes[graph.parameters[buffer.index]] == graph.outputs[k].shape) {
        output = {OutputSource::Kind::kForward, buffer.index};
      }
    } else if (lifetimes.first[b] >= 0 && !updated[b] && result_of[memory->Find(b)] < 0) {
      output.kind = OutputSource::Kind::kDirect;
    }
    if (output.kind == OutputSource::Kind::kDirect) result_of[memory->Find(b)] = k;
    plan->outputs.push_back(output);
  }
  for (size_t b = 0; b < graph.buffers.size(); ++b) {
    if (lifetimes.first[b] < 0) continue;
    const int k = result_of[memory->Find(static_cast<int>(b))];
    if (k >= 0) plan->locations[b] = {Location::Base::kResult, k, 0};
  }
}

// Whether nothing reads the old value at another time or place than where the new one is written.
bool MayOverwrite(const StepGraph& graph, const BufferAssignment& plan, const UpdatePlace& update) {
  const auto is_old = [&](int b) {
    return graph.buffers[b].kind == Buffer::Kind::kParameter &&
           graph.buffers[b].index == update.parameter;
  };
  for (const GraphOutput& output : graph.outputs) {
    if (is_old(output.buffer)) return false;  // read at the very end
  }
  if (plan.outputs[update.output].kind == OutputSource::Kind::kCopy) return true;
  const Location there{Location::Base::kResult, update.output, 0};
  bool is_written = false;
  for (size_t t = plan.num_before_updates; t < plan.steps.size(); ++t) {
    const Step& step = graph.steps[plan.steps[t]];
    const auto result = std::find_if(step.results.begin(), step.results.end(),
                                     [&](int b) { return plan.locations[b] == there; });
    const auto old = std::find_if(step.operands.begin(), step.operands.end(), is_old);
    const bool reads = old != step.operands.end();
    if (reads && is_written) return false;
    if (result == step.results.end()) continue;
    const int r = static_cast<int>(result - step.results.begin());
    if (reads && !TakesOver(graph, step, r, *old)) return false;
    is_written = true;
  }
  return true;
}

}  // namespace

BufferAssignment AssignBuffers(const StepGraph& graph, const std::vector<bool>& kept,
                               const OutputRoles& roles, bool forms_rounds) {
  BufferAssignment plan;
  const auto runs_in_calls = [&](int g) { return !kept[g] && !graph.groups[g].deferred; };
  plan.locations = FixedLocations(graph);
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    if (graph.steps[s].region >= 0) continue;
    const int group = graph.steps[s].group;
    if (group < 0 || runs_in_calls(group)) plan.steps.push_back(static_cast<int>(s));
  }
  for (size_t g = 0; g < graph.groups.size(); ++g) {
    if (!runs_in_calls(g)) PlaceKept(graph, static_cast<int>(g), &plan.locations);
  }
  const OutputRanges ranges(graph, roles);
  const std::vector<bool> updated = PutUpdatesLast(graph, roles, ranges, &plan);

  plan.rounds = forms_rounds ? FormRounds(graph, plan.num_before_updates, &plan.steps)
                             : SeparateRounds(plan.steps.size());
  const Timeline times(graph, plan.steps, plan.rounds);
  Lifetimes lifetimes(graph, times);
  std::vector<bool> must_stay(graph.buffers.size());
  for (const GraphOutput& output : graph.outputs) {
    must_stay[output.buffer] = true;
    lifetimes.last[output.buffer] = times.length;
  }
  SharedMemory memory(graph.buffers.size());
  plan.in_place = JoinInPlace(graph, times, lifetimes, must_stay, updated, &memory);
  AssignOutputs(graph, roles, ranges, lifetimes, updated, &memory, &plan);
  for (size_t i = 0; i < roles.updated.size(); ++i) {
    UpdatePlace update{roles.updated[i], ranges.first_update + static_cast<int>(i)};
    update.in_place = MayOverwrite(graph, plan, update);
    plan.updates.push_back(update);
  }

  ArenaSlots slots = PlaceInArena(graph, times, lifetimes, &memory, &plan.locations);
  plan.slots = std::move(slots.buffers);
  plan.arena = std::move(slots.order);
  return plan;
}

std::optional<std::vector<int64_t>> SlotBytes(const StepGraph& graph, const BufferAssignment& plan,
                                              absl::Span<const int64_t> table) {
  std::vector<int64_t> bytes;
  bytes.reserve(plan.slots.size());
  int64_t sum = 0;
  for (int b : plan.slots) {
    bytes.push_back(table[graph.buffers[b].place]);
    if (bytes.back() < 0 || bytes.back() > kMostBytes) return std::nullopt;
    sum = SaturatingAdd(sum, AlignUp(bytes.back()));
  }
  // Offsets are sums of some of them.
  if (IsSaturated(sum)) return std::nullopt;
  return bytes;
}

GroupAssignment AssignGroup(const StepGraph& graph, int group) {
  GroupAssignment plan;
  plan.locations = FixedLocations(graph);
  plan.block_bytes = PlaceKept(graph, group, &plan.locations);
  const std::vector<int>& steps = graph.groups[group].steps;
  const Timeline times(graph, steps, SeparateRounds(steps.size()));
  const Lifetimes lifetimes(graph, times);
  SharedMemory memory(graph.buffers.size());
  plan.arena = PlaceInArena(graph, times, lifetimes, &memory, &plan.locations).order.layout();
  return plan;
}

}  // namespace tektite::runtime
