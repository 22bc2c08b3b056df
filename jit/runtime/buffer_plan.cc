#include "jit/runtime/buffer_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "jit/runtime/aligned_block.h"

namespace tektite::runtime {
namespace {

// Above this many buffers one order is tried, not all: placing is quadratic.
constexpr size_t kManyBuffers = 3000;

// Places buffers in `order`, each in the smallest gap that takes it.
ArenaLayout Place(absl::Span<const LiveBuffer> buffers, const std::vector<int>& order) {
  ArenaLayout layout;
  layout.offsets.assign(buffers.size(), 0);
  std::vector<int> placed;  // by offset
  for (int b : order) {
    const LiveBuffer& buffer = buffers[b];
    const int64_t bytes = AlignUp(buffer.bytes);
    if (bytes == 0) continue;
    int64_t best = -1, best_gap = 0, end = 0;
    for (int other : placed) {
      if (buffers[other].last < buffer.first || buffer.last < buffers[other].first) continue;
      const int64_t gap = layout.offsets[other] - end;
      if (gap >= bytes && (best < 0 || gap < best_gap)) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, layout.offsets[other] + AlignUp(buffers[other].bytes));
    }
    layout.offsets[b] = best < 0 ? end : best;
    layout.bytes = std::max(layout.bytes, layout.offsets[b] + bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), b,
                         [&](int x, int y) { return layout.offsets[x] < layout.offsets[y]; }),
        b);
  }
  return layout;
}

int64_t MaxLiveBytes(absl::Span<const LiveBuffer> buffers) {
  int steps = 0;
  for (const LiveBuffer& b : buffers) steps = std::max(steps, b.last + 1);
  std::vector<int64_t> change(steps + 1);
  for (const LiveBuffer& b : buffers) {
    change[b.first] += AlignUp(b.bytes);
    change[b.last + 1] -= AlignUp(b.bytes);
  }
  int64_t live = 0, most = 0;
  for (int64_t c : change) most = std::max(most, live += c);
  return most;
}

// Buffers that share memory because each takes over from the one before.
class SharedMemory {
 public:
  explicit SharedMemory(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  int Find(int b) { return parent_[b] == b ? b : parent_[b] = Find(parent_[b]); }
  void Join(int a, int b) { parent_[Find(b)] = Find(a); }

 private:
  std::vector<int> parent_;
};

// First and last position of each buffer that `steps` compute; first is -1 for the others.
struct Lifetimes {
  std::vector<int> first, last;

  Lifetimes(const StepGraph& graph, const std::vector<int>& steps)
      : first(graph.buffers.size(), -1), last(graph.buffers.size(), -1) {
    for (size_t t = 0; t < steps.size(); ++t) {
      const Step& step = graph.steps[steps[t]];
      for (int b : step.operands) last[b] = static_cast<int>(t);
      for (int b : step.results) first[b] = last[b] = static_cast<int>(t);
    }
  }
};

// Result `r` of `step` may take over the memory of operand `b`.
bool TakesOver(const StepGraph& graph, const Step& step, int r, int b) {
  if (graph.buffers[b].bytes != graph.buffers[step.results[r]].bytes) return false;
  for (size_t o = 0; o < step.operands.size(); ++o) {
    if (step.operands[o] == b && !step.kernel->CanRunInPlace(static_cast<int>(o), r)) return false;
  }
  return true;
}

// Joins results with operands they may overwrite; returns how many.
int JoinInPlace(const StepGraph& graph, const std::vector<int>& steps, const Lifetimes& lifetimes,
                const std::vector<bool>& must_stay, SharedMemory* memory) {
  int joined = 0;
  for (size_t t = 0; t < steps.size(); ++t) {
    const Step& step = graph.steps[steps[t]];
    absl::InlinedVector<int, 4> taken;
    for (size_t r = 0; r < step.results.size(); ++r) {
      if (graph.buffers[step.results[r]].bytes == 0) continue;
      for (int b : step.operands) {
        if (lifetimes.first[b] < 0 || lifetimes.last[b] != static_cast<int>(t) || must_stay[b] ||
            std::find(taken.begin(), taken.end(), b) != taken.end() ||
            !TakesOver(graph, step, static_cast<int>(r), b)) {
          continue;
        }
        memory->Join(b, step.results[r]);
        taken.push_back(b);
        ++joined;
        break;
      }
    }
  }
  return joined;
}

// Gives arena offsets to every buffer of `steps` that has no location yet.
ArenaLayout PlaceInArena(const StepGraph& graph, const Lifetimes& lifetimes, SharedMemory* memory,
                         std::vector<Location>* locations) {
  std::vector<int> slot(graph.buffers.size(), -1);
  std::vector<LiveBuffer> live;
  auto each = [&](const std::function<void(int buffer, int root)>& visit) {
    for (size_t b = 0; b < graph.buffers.size(); ++b) {
      if (lifetimes.first[b] >= 0 && (*locations)[b].base == Location::Base::kNowhere) {
        visit(static_cast<int>(b), memory->Find(static_cast<int>(b)));
      }
    }
  };
  each([&](int b, int root) {
    if (slot[root] < 0) {
      slot[root] = static_cast<int>(live.size());
      live.push_back({graph.buffers[b].bytes, lifetimes.first[b], lifetimes.last[b]});
    }
    LiveBuffer& l = live[slot[root]];
    l.first = std::min(l.first, lifetimes.first[b]);
    l.last = std::max(l.last, lifetimes.last[b]);
  });
  ArenaLayout layout = AssignOffsets(live);
  each([&](int b, int root) {
    (*locations)[b] = {Location::Base::kArena, 0, layout.offsets[slot[root]]};
  });
  return layout;
}

std::vector<Location> FixedLocations(const StepGraph& graph) {
  std::vector<Location> locations(graph.buffers.size());
  for (size_t b = 0; b < graph.buffers.size(); ++b) {
    const Buffer& buffer = graph.buffers[b];
    if (buffer.kind == Buffer::Kind::kParameter) {
      locations[b] = {Location::Base::kParameter, buffer.index, 0};
    } else if (buffer.kind == Buffer::Kind::kConstant) {
      locations[b] = {Location::Base::kConstant, buffer.index, 0};
    }
  }
  return locations;
}

// Offsets of a group's kept buffers in its block; returns the block's size.
int64_t PlaceKept(const StepGraph& graph, int group, std::vector<Location>* locations) {
  int64_t bytes = 0;
  for (int b : graph.groups[group].kept) {
    (*locations)[b] = {Location::Base::kWeights, group, bytes};
    bytes += AlignUp(graph.buffers[b].bytes);
  }
  return bytes;
}

}  // namespace

ArenaLayout AssignOffsets(absl::Span<const LiveBuffer> buffers) {
  std::vector<int> in_time(buffers.size());
  std::iota(in_time.begin(), in_time.end(), 0);
  std::stable_sort(in_time.begin(), in_time.end(),
                   [&](int a, int b) { return buffers[a].first < buffers[b].first; });
  std::vector<int> by_size = in_time, by_area = in_time;
  auto area = [&](int b) {
    return static_cast<double>(buffers[b].bytes) * (buffers[b].last - buffers[b].first + 1);
  };
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](int a, int b) { return buffers[a].bytes > buffers[b].bytes; });
  std::stable_sort(by_area.begin(), by_area.end(), [&](int a, int b) { return area(a) > area(b); });

  const int64_t lower_bound = MaxLiveBytes(buffers);
  ArenaLayout best = Place(buffers, by_size);
  if (buffers.size() <= kManyBuffers) {
    for (const std::vector<int>* order : {&by_area, &in_time}) {
      if (best.bytes == lower_bound) break;
      ArenaLayout other = Place(buffers, *order);
      if (other.bytes < best.bytes) best = std::move(other);
    }
  }
  best.max_live_bytes = lower_bound;
  return best;
}

BufferPlan PlanBuffers(const StepGraph& graph, const std::vector<bool>& kept, int num_checks) {
  BufferPlan plan;
  plan.locations = FixedLocations(graph);
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    const int group = graph.steps[s].group;
    if (group < 0 || !kept[group]) plan.steps.push_back(static_cast<int>(s));
  }
  for (size_t g = 0; g < graph.groups.size(); ++g) {
    if (kept[g]) PlaceKept(graph, static_cast<int>(g), &plan.locations);
  }

  Lifetimes lifetimes(graph, plan.steps);
  std::vector<bool> must_stay(graph.buffers.size());
  for (const GraphOutput& output : graph.outputs) {
    must_stay[output.buffer] = true;
    lifetimes.last[output.buffer] = static_cast<int>(plan.steps.size());
  }
  SharedMemory memory(graph.buffers.size());
  plan.in_place = JoinInPlace(graph, plan.steps, lifetimes, must_stay, &memory);

  std::vector<int> result_of(graph.buffers.size(), -1);  // by root of shared memory
  const int num_results = static_cast<int>(graph.outputs.size()) - num_checks;
  for (int k = 0; k < static_cast<int>(graph.outputs.size()); ++k) {
    const int b = graph.outputs[k].buffer;
    const Buffer& buffer = graph.buffers[b];
    OutputPlan output{OutputPlan::Kind::kCopy, b};
    if (k >= num_results) {
      output.kind = OutputPlan::Kind::kCheck;
    } else if (buffer.kind == Buffer::Kind::kParameter) {
      if (graph.parameters[buffer.index] == graph.outputs[k].type) {
        output = {OutputPlan::Kind::kForward, buffer.index};
      }
    } else if (lifetimes.first[b] >= 0 && result_of[memory.Find(b)] < 0) {
      result_of[memory.Find(b)] = k;
      output.kind = OutputPlan::Kind::kDirect;
    }
    plan.outputs.push_back(output);
  }
  for (size_t b = 0; b < graph.buffers.size(); ++b) {
    if (lifetimes.first[b] < 0) continue;
    const int k = result_of[memory.Find(static_cast<int>(b))];
    if (k >= 0) plan.locations[b] = {Location::Base::kResult, k, 0};
  }

  const ArenaLayout layout = PlaceInArena(graph, lifetimes, &memory, &plan.locations);
  plan.arena_bytes = layout.bytes;
  plan.max_live_bytes = layout.max_live_bytes;
  return plan;
}

GroupPlan PlanGroup(const StepGraph& graph, int group) {
  GroupPlan plan;
  plan.locations = FixedLocations(graph);
  plan.block_bytes = PlaceKept(graph, group, &plan.locations);
  const Lifetimes lifetimes(graph, graph.groups[group].steps);
  SharedMemory memory(graph.buffers.size());
  plan.arena_bytes = PlaceInArena(graph, lifetimes, &memory, &plan.locations).bytes;
  return plan;
}

}  // namespace tektite::runtime
