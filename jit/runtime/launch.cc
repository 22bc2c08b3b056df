#include "jit/runtime/launch.h"

#include <algorithm>

#include "jit/base/timing.h"
#include "jit/runtime/host_side_kernel.h"
#include "jit/runtime/memory/host_memory.h"

namespace tektite::runtime {

Launch::Launch(const StepGraph& graph, const Residence& residence, const std::vector<int>& steps,
               const std::vector<int>& rounds, const std::vector<Location>& locations)
    : first_result_(Slot::kFirstParameter + static_cast<int>(graph.parameters.size())),
      first_group_(first_result_ + static_cast<int>(graph.outputs.size())),
      first_block_(first_group_ + static_cast<int>(graph.groups.size())),
      num_bases_(first_block_),
      num_steps_(static_cast<int>(steps.size())),
      residence_(&residence),
      reads_(num_bases_) {
  size_values_.reserve(graph.size_values.size());
  uintptr_t offset = 0;
  for (const std::vector<int>& places : graph.size_values) {
    size_values_.push_back(offset);
    offset += AlignUp(places.size() * sizeof(int64_t));
  }
  Building building{locations, {}};
  size_t num_slots = 0;
  for (int s : steps) num_slots += graph.steps[s].operands.size() + graph.steps[s].results.size();
  slots_.reserve(num_slots);
  steps_.reserve(steps.size());
  for (size_t t = 0; t < steps.size(); ++t) AddStep(graph, steps[t], rounds[t], &building);
  // Regions of regions come behind those they are in.
  for (int i = 0; i < static_cast<int>(steps_.size()); ++i) AddRegions(graph, i, &building);
  FindToggles(building);
}

void Launch::AddStep(const StepGraph& graph, int s, int round, Building* building) {
  const Step& step = graph.steps[s];
  auto add_slot = [&](int b, int64_t part) {
    const Location& location = building->locations[b];
    const bool moves = location.base == Location::Base::kArena;
    if (moves) moving_.emplace_back(static_cast<int>(slots_.size()), location);
    slots_.push_back(moves ? Slot{} : SlotOf(location, {}));
    reads_[slots_.back().base] = true;
    const uintptr_t into = part == Step::kWhole ? 0 : static_cast<uintptr_t>(part);
    slots_.back().offset += into;
    building->slots.push_back({location, into});
  };
  PreparedStep planned;
  planned.kernel = step.kernel.get();
  planned.is_host_side = step.kernel != nullptr && step.kernel->is_host_side();
  planned.first_slot = static_cast<int>(slots_.size());
  planned.first_size = static_cast<int>(symbols_.size());
  planned.num_sizes = static_cast<int>(step.symbols.size());
  planned.step = s;
  planned.round = round;
  if (step.kind == Step::Kind::kCopy) planned.bytes_place = graph.buffers[step.results[0]].place;
  symbols_.insert(symbols_.end(), step.symbols.begin(), step.symbols.end());
  for (size_t o = 0; o < step.operands.size(); ++o) add_slot(step.operands[o], step.PartOf(o));
  for (int b : step.results) add_slot(b, Step::kWhole);
  if (step.IsControl()) {
    planned.control = static_cast<int>(controls_.size());
    Control& control = controls_.emplace_back();
    control.is_loop = step.kind == Step::Kind::kWhile;
    control.num_operands = static_cast<int>(step.operands.size());
    control.num_results = static_cast<int>(step.results.size());
    for (int b : step.results) control.places.push_back(graph.buffers[b].place);
    if (!control.is_loop) {
      control.by_number = graph.buffers[step.operands[0]].size != ir::Dim(sizeof(bool));
    }
    for (int r : step.regions) {
      for (int b : graph.regions[r].outputs) add_slot(b, Step::kWhole);
    }
  }
  steps_.push_back(std::move(planned));
}

void Launch::AddRegions(const StepGraph& graph, int position, Building* building) {
  if (steps_[position].control < 0) return;
  for (int r : graph.steps[steps_[position].step].regions) {
    Range range{static_cast<int>(steps_.size()), 0};
    for (int s : graph.regions[r].steps) {
      // A round of its own, which none of the graph's has the number of.
      AddStep(graph, s, -1 - static_cast<int>(steps_.size()), building);
    }
    range.end = static_cast<int>(steps_.size());
    controls_[steps_[position].control].regions.push_back(range);
  }
}

Slot Launch::SlotOf(const Location& location, const ArenaLayout& layout) const {
  switch (location.base) {
    case Location::Base::kArena:
      return SlotAt(layout.offsets[location.index], layout.blocks);
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

Slot Launch::SlotAt(int64_t offset, absl::Span<const int64_t> blocks) const {
  if (blocks.empty()) return {Slot::kArena, static_cast<uintptr_t>(offset)};
  const auto next = std::upper_bound(blocks.begin(), blocks.end(), offset);
  const int block = static_cast<int>(next - blocks.begin()) - 1;
  const int base = next == blocks.end() ? int{Slot::kArena} : first_block_ + block;
  return {base, static_cast<uintptr_t>(offset - blocks[block])};
}

bool Launch::Place(absl::Span<const int64_t> sizes, const ArenaLayout& layout,
                   absl::Span<const int64_t> table) {
  for (const auto& [slot, location] : moving_) {
    const uintptr_t part = slots_[slot].offset;
    slots_[slot] = SlotOf(location, layout);
    slots_[slot].offset += part;
  }
  moving_.clear();
  num_bases_ = first_block_ + std::max(static_cast<int>(layout.blocks.size()), 1) - 1;
  sizes_.reserve(symbols_.size());
  for (int symbol : symbols_) sizes_.push_back(sizes[symbol]);
  symbols_.clear();
  for (PreparedStep& step : steps_) {
    if (step.bytes_place >= 0) step.bytes = table[step.bytes_place];
    if (step.kernel == nullptr) continue;
    step.launch = step.kernel->Configure(
        absl::MakeConstSpan(sizes_).subspan(step.first_size, step.num_sizes));
    const int64_t scratch = step.launch.scratch_bytes;
    if (!step.launch.fits || scratch < 0 || scratch > kMostBytes) return false;
    scratch_bytes_ = std::max(scratch_bytes_, scratch);
  }
  PlaceControls(table);
  JoinRounds();
  return true;
}

void Launch::JoinRounds() {
  for (size_t begin = 0, end = 0; begin < steps_.size(); begin = end) {
    PreparedStep& first = steps_[begin];
    end = begin + 1;
    while (end < steps_.size() && steps_[end].round == first.round) ++end;
    if (end == begin + 1) continue;  // almost all, and this is done for each new set of sizes
    first.round_steps = static_cast<int>(end - begin);
    for (size_t i = begin + 1; i < end; ++i) first.launch.cost_ns += steps_[i].launch.cost_ns;
  }
}

double Launch::CostNs(int begin, int end) const {
  double cost_ns = 0;
  for (int i = begin; i < end; i += steps_[i].round_steps) cost_ns += steps_[i].launch.cost_ns;
  return cost_ns;
}

int Launch::EndOfSlots(int end) const {
  return end < static_cast<int>(steps_.size()) ? steps_[end].first_slot : num_slots();
}

int Launch::EndOfSizes(int end) const {
  return end < static_cast<int>(steps_.size()) ? steps_[end].first_size
                                               : static_cast<int>(sizes_.size());
}

void Launch::SetPointers(Range range, const uintptr_t* bases, void** pointers) const {
  if (range.begin == range.end) return;
  for (int i = steps_[range.begin].first_slot; i < EndOfSlots(range.end); ++i) {
    pointers[i] = reinterpret_cast<void*>(bases[slots_[i].base] + slots_[i].offset);
  }
  if (controls_.empty()) return;
  for (int i = range.begin; i < range.end; ++i) {
    if (steps_[i].control < 0) continue;
    for (Range region : controls_[steps_[i].control].regions) SetPointers(region, bases, pointers);
  }
}

absl::Status Launch::Run(int begin, int end, const uintptr_t* bases, void** pointers,
                         backend::Stream& stream, const backend::HostPool& pool,
                         StepWatch* watch) const {
  SetPointers({begin, end}, bases, pointers);
  absl::Status status;
  RunSteps({begin, end}, {pointers, stream, pool, watch, status});
  return status;
}

bool Launch::RunSteps(Range range, const Context& context) const {
  for (int i = range.begin; i < range.end; i += steps_[i].round_steps) {
    const PreparedStep& step = steps_[i];
    void** const slots = context.pointers + step.first_slot;
    if (step.control >= 0) {
      if (!RunControl(step, context)) return false;
      continue;
    }
    if (step.kernel == nullptr) {
      if (slots[0] != slots[1]) context.stream.CopyWithin(slots[1], slots[0], step.bytes);
      continue;
    }
    const int next = i + 1;
    const absl::Span<void* const> buffers(slots,
                                          static_cast<size_t>(EndOfSlots(next) - step.first_slot));
    const absl::Span<const int64_t> sizes(sizes_.data() + step.first_size,
                                          static_cast<size_t>(EndOfSizes(next) - step.first_size));
    if (context.watch != nullptr) context.watch->Begins(step.step);
    const StepClock clock(context.watch != nullptr, step.is_host_side, context.stream);
    if (step.is_host_side) {
      context.status = static_cast<const HostSideKernel*>(step.kernel)
                           ->Run(buffers, sizes, context.pool, context.stream);
      if (!context.status.ok()) return false;
    } else {
      context.stream.Launch(*step.kernel, step.launch, buffers, sizes);
    }
    if (context.watch == nullptr) continue;
    const int64_t took = clock.NanosecondsUntilItHasRun();
    if (took < 0) return false;  // and the caller sees it
    context.watch->Ran(step.step, clock.began(), took);
  }
  return true;
}

StepClock::StepClock(bool runs, bool on_host, backend::Stream& stream) : stream_(stream) {
  if (!runs) return;
  if (!on_host) begin_ = stream.RecordTime();
  begin_nanoseconds_ = Nanoseconds();
}

int64_t StepClock::NanosecondsUntilItHasRun() const {
  const auto end = begin_ == nullptr ? nullptr : stream_.RecordTime();
  if (!stream_.Synchronize().ok()) return -1;
  const int64_t by_host = Nanoseconds() - begin_nanoseconds_;
  if (end == nullptr) return by_host;
  const absl::StatusOr<double> by_device = stream_.MicrosecondsBetween(*begin_, *end);
  return by_device.ok() ? static_cast<int64_t>(*by_device * 1e3) : by_host;
}

void StepTime::Add(int64_t began, int64_t took, int64_t weight) {
  latest.store(began, std::memory_order_relaxed);
  nanoseconds.fetch_add(took * weight, std::memory_order_relaxed);
  int64_t so_far = least.load(std::memory_order_relaxed);
  while ((so_far == 0 || took < so_far) &&
         !least.compare_exchange_weak(so_far, took, std::memory_order_relaxed)) {
  }
  runs.fetch_add(weight, std::memory_order_relaxed);
}

}  // namespace tektite::runtime
