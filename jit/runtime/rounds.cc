#include "jit/runtime/rounds.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/base/rounding.h"
#include "jit/runtime/aligned_block.h"
#include "jit/runtime/arena_layout.h"

namespace tektite::runtime {
namespace {

using backend::KernelFrame;
using backend::LaunchPlan;

// A block of what is between a pass's kernels must fit into L2 beside the weights, which are read
// again for each.
constexpr int64_t kMostLocalBytes = 512 << 10;
constexpr int64_t kMostWeightBytes = 256 << 10;
// A step that takes longer has chunks enough for all threads, and results that are larger had
// better be read while they are in a cache.
constexpr double kSmallNs = 15e3;
constexpr int64_t kSmallBytes = 64 << 10;
constexpr int kMostSideBySide = 32;
// How far ahead small steps are looked for.
constexpr int kLookAhead = 64;

template <typename Container>
bool Contains(const Container& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

class Former {
 public:
  Former(const StepGraph& graph, int num_before_updates, const RoundOptions& options,
         std::vector<int>* steps)
      : graph_(graph), end_(num_before_updates), options_(options), steps_(*steps) {
    rounds_.local.resize(graph.buffers.size());
    is_computed_.resize(graph.buffers.size());
    int64_t computed = 0;
    for (int t = 0; t < end_; ++t) {
      for (int b : StepAt(t).results) {
        is_computed_[b] = true;
        computed += graph.buffers[b].typical_bytes;
      }
    }
    // Passes are for graphs of known sizes: whether there is one decides what has memory.
    may_pass_ = graph.sources.empty() && computed >= options.least_bytes_saved;
    if (may_pass_) BoundPasses();
    seen_by_.resize(graph.buffers.size(), -1);
  }

  Rounds Run() {
    const int num_steps = static_cast<int>(steps_.size());
    int round = 0;
    for (int begin = 0, end = 0; begin < num_steps; begin = end, ++round) {
      end = begin + 1;
      if (begin < end_) {
        end = EndOfPass(begin);
        if (end == begin + 1) end = GatherSmall(begin);
      }
      rounds_.of_step.insert(rounds_.of_step.end(), end - begin, round);
    }
    return std::move(rounds_);
  }

 private:
  const Step& StepAt(int position) const { return graph_.steps[steps_[position]]; }

  const LaunchPlan& PlanOf(int s) {
    if (plans_.empty()) plans_.resize(graph_.steps.size());
    if (!plans_[s]) plans_[s] = PlanAtTypicalSizes(graph_, graph_.steps[s]);
    return *plans_[s];
  }

  int EndOfPass(int begin) {
    if (!may_pass_ || most_saved_[steps_[begin]] < options_.least_bytes_saved) return begin + 1;
    std::vector<Round::Member> members = {{StepAt(begin).kernel.get(), PlanOf(steps_[begin])}};
    int64_t weights = 0;
    int end = begin + 1;
    for (; end < end_; ++end) {
      if (!ReadsByRow(StepAt(end), begin, end)) break;
      weights += WeightBytes(StepAt(end));
      if (weights > kMostWeightBytes) break;
      members.push_back({StepAt(end).kernel.get(), PlanOf(steps_[end])});
      const auto pass = Round::Create(Round::Kind::kPass, members, {}, 0);
      if (pass == nullptr || pass->Plan({}).num_chunks < options_.least_blocks) {
        members.pop_back();
        break;
      }
    }
    if (end == begin + 1) return end;
    const std::vector<bool> local = LocalTo(begin, end);
    int64_t saved = 0;
    for (size_t b = 0; b < local.size(); ++b) {
      if (local[b]) saved += graph_.buffers[b].typical_bytes;
    }
    if (saved < options_.least_bytes_saved) return begin + 1;
    const auto steps = absl::MakeConstSpan(steps_).subspan(begin, end - begin);
    if (Round::Create(Round::Kind::kPass, std::move(members), LocalsOf(graph_, steps, local), 0) ==
        nullptr) {
      return begin + 1;
    }
    for (size_t b = 0; b < local.size(); ++b) {
      if (local[b]) rounds_.local[b] = true;
    }
    return end;
  }

  // Large weights end passes; what is written up to there is mostly too little for one, and no
  // kernel has to be asked.
  void BoundPasses() {
    most_saved_.resize(graph_.steps.size());
    int64_t bytes = 0;
    for (int t = end_; t-- > 0;) {
      const Step& step = StepAt(t);
      for (int b : step.results) bytes += graph_.buffers[b].typical_bytes;
      most_saved_[steps_[t]] = bytes;
      if (WeightBytes(step) > kMostWeightBytes) bytes = 0;
    }
  }

  // The step reads results of those at [begin, end), and all of them by row.
  bool ReadsByRow(const Step& step, int begin, int end) const {
    bool reads = false;
    for (size_t o = 0; o < step.operands.size(); ++o) {
      if (!IsResultOf(step.operands[o], begin, end)) continue;
      if (step.PartOf(o) != Step::kWhole || !step.kernel->ReadsByRow(static_cast<int>(o))) {
        return false;
      }
      reads = true;
    }
    return reads;
  }

  bool IsResultOf(int buffer, int begin, int end) const {
    for (int t = begin; t < end; ++t) {
      if (Contains(StepAt(t).results, buffer)) return true;
    }
    return false;
  }

  // By buffer: written by steps at [begin, end), and read by nobody else.
  std::vector<bool> LocalTo(int begin, int end) const {
    std::vector<bool> local(graph_.buffers.size());
    for (int t = begin; t < end; ++t) {
      for (int b : StepAt(t).results) local[b] = true;
    }
    for (int t = end; t < static_cast<int>(steps_.size()); ++t) {
      for (int b : StepAt(t).operands) local[b] = false;
    }
    for (const GraphOutput& output : graph_.outputs) local[output.buffer] = false;
    return local;
  }

  // Of what no step of the call computes.
  int64_t WeightBytes(const Step& step) const {
    int64_t bytes = 0;
    for (int b : step.operands) {
      if (!is_computed_[b]) bytes += graph_.buffers[b].typical_bytes;
    }
    return bytes;
  }

  bool IsSmall(int s) {
    int64_t bytes = 0;
    for (int b : graph_.steps[s].results) bytes += graph_.buffers[b].typical_bytes;
    return bytes <= kSmallBytes && PlanOf(s).cost_ns <= kSmallNs;
  }

  // Moves small steps that need nothing but what is there before `begin` behind it.
  int GatherSmall(int begin) {
    if (!IsSmall(steps_[begin])) return begin + 1;
    int end = begin + 1;
    const int last = std::min(end_, begin + kLookAhead);
    // Results of all that was seen from `begin` on, taken or not.
    const auto see = [&](const Step& step) {
      for (int b : step.results) seen_by_[b] = begin;
    };
    see(StepAt(begin));
    for (int t = end; t < last && end < begin + kMostSideBySide; ++t) {
      const Step& step = StepAt(t);
      const bool waits = std::any_of(step.operands.begin(), step.operands.end(),
                                     [&](int b) { return seen_by_[b] == begin; });
      see(step);
      if (waits || !IsSmall(steps_[t])) continue;
      std::rotate(steps_.begin() + end, steps_.begin() + t, steps_.begin() + t + 1);
      ++end;
    }
    return end;
  }

  const StepGraph& graph_;
  const int end_;
  const RoundOptions& options_;
  std::vector<int>& steps_;
  std::vector<std::optional<LaunchPlan>> plans_;  // by step, at typical sizes, once asked for
  std::vector<bool> is_computed_;                 // by buffer, in the call
  bool may_pass_ = false;
  std::vector<int64_t> most_saved_;  // by step: the bytes that a pass which begins there writes
  std::vector<int> seen_by_;         // by buffer, the latest search that came past its step
  Rounds rounds_;
};

}  // namespace

Rounds FormRounds(const StepGraph& graph, int num_before_updates, const RoundOptions& options,
                  std::vector<int>* steps) {
  if (!options.join) return SeparateRounds(graph, steps->size());
  return Former(graph, num_before_updates, options, steps).Run();
}

Rounds SeparateRounds(const StepGraph& graph, size_t num_steps) {
  Rounds rounds{std::vector<int>(num_steps), std::vector<bool>(graph.buffers.size())};
  std::iota(rounds.of_step.begin(), rounds.of_step.end(), 0);
  return rounds;
}

LaunchPlan PlanAtTypicalSizes(const StepGraph& graph, const Step& step) {
  std::vector<int64_t> sizes;
  for (int symbol : step.symbols) sizes.push_back(graph.typical_sizes[symbol]);
  return step.kernel->Plan(sizes);
}

Round::Kind KindOf(const StepGraph& graph, absl::Span<const int> steps) {
  std::vector<int> results;
  for (int s : steps) {
    for (int b : graph.steps[s].operands) {
      if (Contains(results, b)) return Round::Kind::kPass;
    }
    results.insert(results.end(), graph.steps[s].results.begin(), graph.steps[s].results.end());
  }
  return Round::Kind::kSideBySide;
}

std::vector<Round::Local> LocalsOf(const StepGraph& graph, absl::Span<const int> steps,
                                   const std::vector<bool>& local) {
  std::vector<Round::Local> locals;
  std::vector<int> buffers;  // of the locals
  int slot = 0;
  const auto meet = [&](int b, int member) {
    if (local[b]) {
      auto at = std::find(buffers.begin(), buffers.end(), b) - buffers.begin();
      if (at == static_cast<int64_t>(buffers.size())) {
        buffers.push_back(b);
        locals.push_back({graph.buffers[b].typical_bytes, member, member});
      }
      locals[at].last = member;
      locals[at].slots.push_back(slot);
    }
    ++slot;
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    for (int b : graph.steps[steps[i]].operands) meet(b, static_cast<int>(i));
    for (int b : graph.steps[steps[i]].results) meet(b, static_cast<int>(i));
  }
  return locals;
}

std::string RoundsText(const StepGraph& graph, absl::Span<const int> steps, const Rounds& rounds) {
  std::string text;
  for (size_t begin = 0, end = 0; begin < steps.size(); begin = end) {
    while (end < steps.size() && rounds.of_step[end] == rounds.of_step[begin]) ++end;
    if (end == begin + 1) continue;
    const auto numbers = steps.subspan(begin, end - begin);
    absl::StrAppend(
        &text, "steps ", absl::StrJoin(numbers, ", "),
        KindOf(graph, numbers) == Round::Kind::kPass ? " in one pass\n" : " side by side\n");
  }
  return text;
}

Round::Round(Kind kind, std::vector<Member> members, std::vector<Local> locals, int num_slots)
    : kind_(kind), members_(std::move(members)), locals_(std::move(locals)), num_slots_(num_slots) {
  plan_.num_chunks = 0;
  for (const Member& member : members_) {
    plan_.num_chunks += member.plan.num_chunks;
    plan_.scratch_bytes = std::max(plan_.scratch_bytes, member.plan.scratch_bytes);
    plan_.cost_ns += member.plan.cost_ns;
  }
}

std::shared_ptr<const Round> Round::Create(Kind kind, std::vector<Member> members,
                                           std::vector<Local> locals, int num_slots) {
  std::shared_ptr<Round> round(new Round(kind, std::move(members), std::move(locals), num_slots));
  if (kind == Kind::kPass && (!round->FindBlocks() || !round->PlaceLocals())) return nullptr;
  return round;
}

bool Round::FindBlocks() {
  const int64_t all_rows = members_[0].plan.bands.all_rows;
  int64_t rows = 1;
  for (const Member& member : members_) {
    const backend::Bands& bands = member.plan.bands;
    if (bands.chunks <= 0 || bands.rows <= 0 || bands.all_rows != all_rows) return false;
    rows = std::lcm(rows, bands.rows);
  }
  block_rows_ = rows;
  plan_.num_chunks = CeilDiv(all_rows, rows);
  return true;
}

// Behind the members' own scratch.
bool Round::PlaceLocals() {
  const int64_t all_rows = members_[0].plan.bands.all_rows;
  std::vector<LiveBuffer> live;
  for (const Local& local : locals_) {
    if (local.bytes % all_rows != 0) return false;
    // An array's own place within a cache line is kept, whichever row is the first.
    live.push_back(
        {AlignUp(local.bytes / all_rows * block_rows_) + kAlignment, local.first, local.last});
  }
  const ArenaLayout layout = ArenaOrder(live).layout();
  if (layout.bytes > kMostLocalBytes) return false;
  const int64_t members_bytes = AlignUp(plan_.scratch_bytes);
  for (int64_t offset : layout.offsets) offsets_.push_back(members_bytes + offset);
  plan_.scratch_bytes = members_bytes + layout.bytes;
  return true;
}

void Round::Run(const KernelFrame& frame, int64_t begin, int64_t end) const {
  if (kind_ == Kind::kPass) {
    for (int64_t block = begin; block < end; ++block) RunBlock(frame, block);
    return;
  }
  int64_t first = 0;  // of the member's chunks among all
  for (const Member& member : members_) {
    const int64_t chunks = member.plan.num_chunks;
    const int64_t from = std::max(begin - first, int64_t{0}), to = std::min(end - first, chunks);
    if (from < to) {
      member.kernel->Run(
          {frame.buffers + member.first_slot, frame.sizes + member.first_size, frame.scratch}, from,
          to);
    }
    first += chunks;
  }
}

void Round::RunBlock(const KernelFrame& frame, int64_t block) const {
  absl::InlinedVector<void*, 64> buffers(frame.buffers, frame.buffers + num_slots_);
  const int64_t all_rows = members_[0].plan.bands.all_rows;
  for (size_t i = 0; i < locals_.size(); ++i) {
    const int64_t before = locals_[i].bytes / all_rows * block * block_rows_;
    const uintptr_t here = reinterpret_cast<uintptr_t>(frame.scratch) + offsets_[i];
    const uintptr_t begin = here + before % kAlignment - before;
    for (int slot : locals_[i].slots) buffers[slot] = reinterpret_cast<void*>(begin);
  }
  for (const Member& member : members_) {
    const backend::Bands& bands = member.plan.bands;
    const int64_t chunks = block_rows_ / bands.rows * bands.chunks;
    member.kernel->Run(
        {buffers.data() + member.first_slot, frame.sizes + member.first_size, frame.scratch},
        block * chunks, std::min((block + 1) * chunks, member.plan.num_chunks));
  }
}

}  // namespace tektite::runtime
