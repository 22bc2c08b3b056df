#include "jit/runtime/call_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/base/saturating.h"
#include "jit/base/timing.h"
#include "jit/runtime/host_memory.h"

namespace tektite::runtime {

Launch::Launch(const StepGraph& graph, const Residence& residence, const std::vector<int>& steps,
               const std::vector<int>& rounds, const std::vector<Location>& locations)
    : first_result_(Slot::kFirstParameter + static_cast<int>(graph.parameters.size())),
      first_group_(first_result_ + static_cast<int>(graph.outputs.size())),
      num_bases_(first_group_ + static_cast<int>(graph.groups.size())),
      residence_(&residence),
      reads_(num_bases_) {
  size_values_.reserve(graph.size_values.size());
  uintptr_t offset = 0;
  for (const std::vector<int>& places : graph.size_values) {
    size_values_.push_back(offset);
    offset += places.size() * sizeof(int64_t);
  }
  auto add_slot = [&](int b, int64_t part) {
    const Location& location = locations[b];
    const bool moves = location.base == Location::Base::kArena;
    if (moves) moving_.emplace_back(static_cast<int>(slots_.size()), location);
    slots_.push_back(moves ? Slot{} : SlotOf(location, {}));
    reads_[slots_.back().base] = true;
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

Slot Launch::SlotOf(const Location& location, absl::Span<const int64_t> offsets) const {
  switch (location.base) {
    case Location::Base::kArena:
      return {Slot::kArena, static_cast<uintptr_t>(offsets[location.index])};
    case Location::Base::kConstant:
      return {Slot::kAbsolute, reinterpret_cast<uintptr_t>(residence_->constants[location.index])};
    case Location::Base::kSizes:
      return {Slot::kSizeValues, size_values_[location.index]};
    case Location::Base::kParameter:
      return {Slot::kFirstParameter + location.index, 0};
    case Location::Base::kResult:
      return {first_result_ + location.index, 0};
    case Location::Base::kWeights:
      return {first_group_ + location.index, static_cast<uintptr_t>(location.offset)};
    case Location::Base::kNowhere:
      break;
  }
  return {};
}

bool Launch::Place(absl::Span<const int64_t> sizes, absl::Span<const int64_t> offsets) {
  for (const auto& [slot, location] : moving_) {
    const uintptr_t part = slots_[slot].offset;
    slots_[slot] = SlotOf(location, offsets);
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
      members.push_back({static_cast<const backend::HostKernel*>(step.kernel), step.launch,
                         step.first_slot - first.first_slot, step.first_size - first.first_size});
    }
    first.whole = std::make_shared<const Round>(std::move(members));
    first.round_steps = static_cast<int>(end - begin);
    first.launch = first.whole->Plan({});
    scratch_bytes_ = std::max(scratch_bytes_, first.launch.scratch_bytes);
  }
}

double Launch::CostNs(int begin, int end) const {
  double cost_ns = 0;
  for (int i = begin; i < end; i += steps_[i].round_steps) cost_ns += steps_[i].launch.cost_ns;
  return cost_ns;
}

int Launch::EndOfSlots(int end) const {
  return end < num_steps() ? steps_[end].first_slot : num_slots();
}

int Launch::EndOfSizes(int end) const {
  return end < num_steps() ? steps_[end].first_size : static_cast<int>(sizes_.size());
}

void Launch::Run(int begin, int end, const uintptr_t* bases, void** pointers,
                 backend::Stream& stream, std::vector<StepTime>& times) const {
  if (begin == end) return;
  for (int i = steps_[begin].first_slot; i < EndOfSlots(end); ++i) {
    pointers[i] = reinterpret_cast<void*>(bases[slots_[i].base] + slots_[i].offset);
  }
  for (int i = begin; i < end; i += steps_[i].round_steps) {
    const Planned& step = steps_[i];
    const int next = i + step.round_steps;
    const absl::Span<void* const> buffers(pointers + step.first_slot,
                                          static_cast<size_t>(EndOfSlots(next) - step.first_slot));
    const absl::Span<const int64_t> sizes(sizes_.data() + step.first_size,
                                          static_cast<size_t>(EndOfSizes(next) - step.first_size));
    const backend::Kernel* const kernel = step.whole != nullptr ? step.whole.get() : step.kernel;
    if (times.empty()) {
      stream.Launch(*kernel, step.launch, buffers, sizes);
      continue;
    }
    Stopwatch watch;
    stream.Launch(*kernel, step.launch, buffers, sizes);
    if (!stream.Synchronize().ok()) return;  // and the caller sees it
    times[step.step].Add(static_cast<int64_t>(watch.Seconds() * 1e9));
  }
}

void StepTime::Add(int64_t took) {
  nanoseconds.fetch_add(took, std::memory_order_relaxed);
  int64_t so_far = least.load(std::memory_order_relaxed);
  while ((so_far == 0 || took < so_far) &&
         !least.compare_exchange_weak(so_far, took, std::memory_order_relaxed)) {
  }
  runs.fetch_add(1, std::memory_order_relaxed);
}

CallPlan::CallPlan(const StepGraph& graph, const Residence& residence, BufferPlan buffers)
    : graph_(graph),
      residence_(residence),
      buffers_(std::move(buffers)),
      launch_(graph, residence, buffers_.steps, buffers_.rounds, buffers_.locations) {
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
  for (const std::vector<int>& places : graph_.size_values) {
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
  if (!launch.Place(sizes, layout.offsets)) {
    return absl::ResourceExhaustedError("sizes that a kernel cannot count in");
  }
  plan->launch = std::move(launch);
  int64_t results_bytes = 0;
  for (const GraphOutput& output : graph_.outputs) {
    TensorType type{output.shape.dtype(), {}};
    for (int place : output.dims) type.dims.push_back(table[place]);
    plan->results.push_back(std::move(type));
    plan->output_slots.push_back(
        plan->launch.SlotOf(buffers_.locations[output.buffer], layout.offsets));
    plan->output_bytes.push_back(table[graph_.buffers[output.buffer].place]);
    results_bytes = SaturatingAdd(results_bytes, plan->output_bytes.back());
  }
  plan->arena_bytes = layout.bytes;
  plan->memory_bytes = layout.bytes + plan->launch.scratch_bytes();
  if (residence_.memory->space() != backend::MemorySpace::kHost) {
    plan->parameter_bytes.resize(graph_.parameters.size());
    for (const Buffer& buffer : graph_.buffers) {
      if (buffer.kind == Buffer::Kind::kParameter) {
        plan->parameter_bytes[buffer.index] = table[buffer.place];
      }
    }
  }
  // TensorFlow would fail at the first tensor that it cannot allocate, within microseconds.
  const int64_t needed = SaturatingAdd(plan->memory_bytes, results_bytes);
  if (needed > residence_.memory->limit()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a call needs ", needed, " bytes, there are ", residence_.memory->limit()));
  }
  return absl::OkStatus();
}

}  // namespace tektite::runtime
