#include "jit/runtime/call_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/base/memory_limit.h"
#include "jit/base/saturating.h"
#include "jit/base/timing.h"
#include "jit/runtime/aligned_block.h"

namespace tektite::runtime {

// Whether a call was cancelled, as several threads ask it: after the first yes nobody asks the
// host.
class CancelledOnce {
 public:
  explicit CancelledOnce(absl::FunctionRef<bool()> ask) : ask_(ask) {}
  bool IsKnown() const { return known_.load(std::memory_order_relaxed); }
  bool Ask() const {
    if (!IsKnown() && ask_()) known_.store(true, std::memory_order_relaxed);
    return IsKnown();
  }

 private:
  const absl::FunctionRef<bool()> ask_;
  mutable std::atomic<bool> known_{false};
};

namespace {

// A kernel whose chunks take long: each asks first, and those after a yes are left out.
class CancellableKernel : public backend::Kernel {
 public:
  CancellableKernel(const backend::Kernel& kernel, const CancelledOnce& cancelled)
      : kernel_(kernel), cancelled_(cancelled) {}
  backend::LaunchPlan Plan(absl::Span<const int64_t> sizes) const override {
    return kernel_.Plan(sizes);
  }
  void Run(const backend::KernelFrame& frame, int64_t begin, int64_t end) const override {
    for (int64_t chunk = begin; chunk < end && !cancelled_.Ask(); ++chunk) {
      kernel_.Run(frame, chunk, chunk + 1);
    }
  }

 private:
  const backend::Kernel& kernel_;
  const CancelledOnce& cancelled_;
};

// Steps that take longer are looked at from within; their chunks take some 5 us at least.
constexpr double kLongStepNs = 20e6;

bool Moves(const Location& location) {
  return location.base == Location::Base::kArena || location.base == Location::Base::kSizes;
}

}  // namespace

Launch::Launch(const StepGraph& graph, const std::vector<int>& steps,
               const std::vector<int>& rounds, const std::vector<Location>& locations)
    : first_result_(2 + static_cast<int>(graph.parameters.size())),
      first_group_(first_result_ + static_cast<int>(graph.outputs.size())),
      num_bases_(first_group_ + static_cast<int>(graph.groups.size())),
      graph_(&graph) {
  auto add_slot = [&](int b, int64_t part) {
    const Location& location = locations[b];
    if (Moves(location)) moving_.emplace_back(static_cast<int>(slots_.size()), location);
    slots_.push_back(Moves(location) ? Slot{} : SlotOf(location, {}, {}));
    if (part != Step::kWhole) slots_.back().offset += static_cast<uintptr_t>(part);
  };
  size_t num_slots = 0;
  for (int s : steps) num_slots += graph.steps[s].operands.size() + graph.steps[s].results.size();
  slots_.reserve(num_slots);
  steps_.reserve(steps.size());
  for (size_t t = 0; t < steps.size(); ++t) {
    const int s = steps[t];
    const Step& step = graph.steps[s];
    Planned planned;
    planned.kernel = step.kernel.get();
    planned.first_slot = static_cast<int>(slots_.size());
    planned.first_size = static_cast<int>(symbols_.size());
    planned.num_sizes = static_cast<int>(step.symbols.size());
    planned.step = s;
    planned.round = rounds[t];
    steps_.push_back(std::move(planned));
    symbols_.insert(symbols_.end(), step.symbols.begin(), step.symbols.end());
    for (size_t o = 0; o < step.operands.size(); ++o) add_slot(step.operands[o], step.PartOf(o));
    for (int b : step.results) add_slot(b, Step::kWhole);
  }
}

Slot Launch::SlotOf(const Location& location, absl::Span<const int64_t> offsets,
                    absl::Span<const int64_t* const> size_values) const {
  switch (location.base) {
    case Location::Base::kArena:
      return {0, static_cast<uintptr_t>(offsets[location.index])};
    case Location::Base::kConstant:
      return {1, reinterpret_cast<uintptr_t>(graph_->constants[location.index].raw())};
    case Location::Base::kSizes:
      return {1, reinterpret_cast<uintptr_t>(size_values[location.index])};
    case Location::Base::kParameter:
      return {2 + location.index, 0};
    case Location::Base::kResult:
      return {first_result_ + location.index, 0};
    case Location::Base::kWeights:
      return {first_group_ + location.index, static_cast<uintptr_t>(location.offset)};
    case Location::Base::kNowhere:
      break;
  }
  return {1, 0};
}

bool Launch::Place(absl::Span<const int64_t> sizes, absl::Span<const int64_t> offsets,
                   absl::Span<const int64_t* const> size_values) {
  for (const auto& [slot, location] : moving_) {
    const uintptr_t part = slots_[slot].offset;
    slots_[slot] = SlotOf(location, offsets, size_values);
    slots_[slot].offset += part;
  }
  moving_.clear();
  sizes_.reserve(symbols_.size());
  for (int symbol : symbols_) sizes_.push_back(sizes[symbol]);
  symbols_.clear();
  for (Planned& step : steps_) {
    step.launch =
        step.kernel->Plan(absl::MakeConstSpan(sizes_).subspan(step.first_size, step.num_sizes));
    const int64_t scratch = step.launch.scratch_bytes;
    if (!step.launch.fits || scratch < 0 || scratch > kMostBytes) return false;
    scratch_bytes_ = std::max(scratch_bytes_, scratch);
  }
  JoinRounds();
  return true;
}

void Launch::JoinRounds() {
  for (size_t begin = 0, end = 0; begin < steps_.size(); begin = end) {
    Planned& first = steps_[begin];
    end = begin + 1;
    while (end < steps_.size() && steps_[end].round == first.round) ++end;
    if (end == begin + 1) continue;  // almost all, and this is done for each new set of sizes
    std::vector<Round::Member> members;
    for (size_t i = begin; i < end; ++i) {
      const Planned& step = steps_[i];
      members.push_back({step.kernel, step.launch, step.first_slot - first.first_slot,
                         step.first_size - first.first_size});
    }
    first.whole = std::make_shared<const Round>(std::move(members));
    first.round_steps = static_cast<int>(end - begin);
    first.launch = first.whole->Plan({});
    scratch_bytes_ = std::max(scratch_bytes_, first.launch.scratch_bytes);
  }
}

int64_t Launch::working_bytes() const {
  return AlignUp(scratch_bytes_) +
         static_cast<int64_t>((num_bases_ + slots_.size()) * sizeof(void*));
}

uintptr_t* Launch::Bases(std::byte* working) const {
  return reinterpret_cast<uintptr_t*>(working + AlignUp(scratch_bytes_));
}

bool Launch::Run(int begin, int end, std::byte* working, const HostPool& pool,
                 std::vector<StepTime>& times, CallTimes* call_times,
                 absl::FunctionRef<bool()> is_cancelled) const {
  const auto steps = absl::MakeConstSpan(steps_).subspan(begin, end - begin);
  double cost_ns = 0;
  for (size_t i = 0; i < steps.size(); i += steps[i].round_steps) {
    cost_ns += steps[i].launch.cost_ns;
  }
  const uintptr_t* bases = Bases(working);
  auto* pointers = reinterpret_cast<void**>(Bases(working)) + num_bases_;
  for (size_t i = 0; i < slots_.size(); ++i) {
    pointers[i] = reinterpret_cast<void*>(bases[slots_[i].base] + slots_[i].offset);
  }
  // Calls that take less do not know of cancellation at all.
  const CancelledOnce asked(is_cancelled);
  const CancelledOnce* const cancelled = cost_ns < kAskNs ? nullptr : &asked;
  double since_asked = 0;
  ThreadTeam team(pool, cost_ns, scratch_bytes_, working, call_times);
  for (size_t i = 0; i < steps.size(); i += steps[i].round_steps) {
    if (cancelled != nullptr && (since_asked += steps[i].launch.cost_ns) >= kAskNs) {
      if (cancelled->Ask()) return false;
      since_asked = 0;
    }
    if (times.empty()) {
      RunStep(team, steps[i], pointers, cancelled);
      continue;
    }
    Stopwatch watch;
    RunStep(team, steps[i], pointers, cancelled);
    StepTime& time = times[steps[i].step];
    const auto took = static_cast<int64_t>(watch.Seconds() * 1e9);
    time.nanoseconds.fetch_add(took, std::memory_order_relaxed);
    int64_t least = time.least.load(std::memory_order_relaxed);
    while ((least == 0 || took < least) &&
           !time.least.compare_exchange_weak(least, took, std::memory_order_relaxed)) {
    }
    time.runs.fetch_add(1, std::memory_order_relaxed);
  }
  return !asked.IsKnown();
}

void Launch::RunStep(ThreadTeam& team, const Planned& step, void** pointers,
                     const CancelledOnce* cancelled) const {
  const backend::Kernel& kernel = step.whole != nullptr ? *step.whole : *step.kernel;
  void* const* const buffers = pointers + step.first_slot;
  const int64_t* const sizes = sizes_.data() + step.first_size;
  if (cancelled == nullptr || step.launch.cost_ns < kLongStepNs) {
    return team.Run(kernel, step.launch, buffers, sizes);
  }
  const CancellableKernel cancellable(kernel, *cancelled);
  team.Run(cancellable, step.launch, buffers, sizes);
}

CallPlan::CallPlan(const StepGraph& graph, BufferPlan buffers)
    : graph_(graph),
      buffers_(std::move(buffers)),
      launch_(graph, buffers_.steps, buffers_.rounds, buffers_.locations) {
  if (graph.sources.empty()) only_ = Make({}, std::exchange(launch_, {}));
}

std::shared_ptr<const SizedPlan> CallPlan::For(absl::Span<const int64_t> sizes) const {
  if (only_ != nullptr) return only_;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (latest_ != nullptr && sizes == absl::MakeConstSpan(latest_->sizes)) return latest_;
    const auto it = known_.find(std::vector<int64_t>(sizes.begin(), sizes.end()));
    if (it != known_.end()) {
      it->second.last_use = ++clock_;
      return latest_ = it->second.plan;
    }
  }
  std::shared_ptr<const SizedPlan> plan = Make(sizes, launch_);
  std::shared_ptr<const SizedPlan> oldest;  // freed after the lock is
  std::lock_guard<std::mutex> lock(mutex_);
  if (known_.size() >= kMostSized) {
    auto least = known_.begin();
    for (auto it = known_.begin(); it != known_.end(); ++it) {
      if (it->second.last_use < least->second.last_use) least = it;
    }
    oldest = std::move(least->second.plan);
    known_.erase(least);
  }
  known_[plan->sizes] = {plan, ++clock_};
  return latest_ = plan;
}

std::shared_ptr<const SizedPlan> CallPlan::Make(absl::Span<const int64_t> sizes,
                                                Launch launch) const {
  auto plan = std::make_shared<SizedPlan>();
  plan->sizes.assign(sizes.begin(), sizes.end());
  plan->status = Fill(sizes, std::move(launch), plan.get());
  return plan;
}

absl::Status CallPlan::Fill(absl::Span<const int64_t> sizes, Launch launch, SizedPlan* plan) const {
  std::vector<int64_t> table(graph_.program.table_size());
  if (!graph_.program.Run(sizes.data(), table.data())) {
    return absl::ResourceExhaustedError("sizes that 64 bits do not count");
  }
  if (const SizeCheck* failed = FirstFailed(graph_.checks, table)) {
    return absl::OutOfRangeError(absl::StrCat("the code needs ", failed->text, ", here ",
                                              table[failed->low], " and ", table[failed->high]));
  }
  std::vector<const int64_t*> size_values;
  size_t num_values = 0;
  for (const std::vector<int>& places : graph_.size_values) num_values += places.size();
  plan->size_values.reserve(num_values);
  for (const std::vector<int>& places : graph_.size_values) {
    size_values.push_back(plan->size_values.data() + plan->size_values.size());
    for (int place : places) plan->size_values.push_back(table[place]);
  }

  ArenaLayout layout;
  if (sizes.empty()) {
    layout = buffers_.arena.layout();
  } else {
    const std::optional<std::vector<int64_t>> bytes = SlotBytes(graph_, buffers_, table);
    if (!bytes) return absl::ResourceExhaustedError("a buffer larger than memory can be");
    layout = buffers_.arena.Place(*bytes);
  }
  if (!launch.Place(sizes, layout.offsets, size_values)) {
    return absl::ResourceExhaustedError("sizes that a kernel cannot count in");
  }
  plan->launch = std::move(launch);
  int64_t results_bytes = 0;
  for (const GraphOutput& output : graph_.outputs) {
    TensorType type{output.shape.dtype(), {}};
    for (int place : output.dims) type.dims.push_back(table[place]);
    plan->results.push_back(std::move(type));
    plan->output_slots.push_back(
        plan->launch.SlotOf(buffers_.locations[output.buffer], layout.offsets, size_values));
    plan->output_bytes.push_back(table[graph_.buffers[output.buffer].place]);
    results_bytes = SaturatingAdd(results_bytes, plan->output_bytes.back());
  }
  plan->arena_bytes = layout.bytes;
  plan->memory_bytes = layout.bytes + plan->launch.working_bytes();
  // TensorFlow would fail at the first tensor that it cannot allocate, within microseconds.
  const int64_t needed = SaturatingAdd(plan->memory_bytes, results_bytes);
  if (needed > MemoryLimit()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a call needs ", needed, " bytes, the machine has ", MemoryLimit()));
  }
  return absl::OkStatus();
}

}  // namespace tektite::runtime
