#include "jit/runtime/executable.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/base/status.h"
#include "jit/base/timing.h"

namespace tektite::runtime {
namespace {

using backend::Kernel;

// More sets of kept groups than this, and the versions come and go without a pattern: nothing is
// kept.
constexpr size_t kMostPlans = 8;

// A pointer of a kernel's frame: bases[base] + offset.
struct Slot {
  int base = 0;
  uintptr_t offset = 0;
};

struct PlannedStep {
  const Kernel* kernel = nullptr;
  backend::LaunchPlan launch;
  int first_slot = 0;
  int step = 0;
};

// The pointers of some steps, to be filled in once their bases are known.  Base 0 is the arena and
// base 1 is zero (constants have fixed addresses); the other three kinds follow.
class PointerTable {
 public:
  PointerTable(const StepGraph& graph, const std::vector<int>& steps,
               const std::vector<Location>& locations)
      : first_result_(2 + static_cast<int>(graph.parameters.size())),
        first_group_(first_result_ + static_cast<int>(graph.outputs.size())),
        num_bases_(first_group_ + static_cast<int>(graph.groups.size())) {
    for (int s : steps) {
      const Step& step = graph.steps[s];
      const backend::LaunchPlan launch = step.kernel->Plan({});
      steps_.push_back({step.kernel.get(), launch, static_cast<int>(slots_.size()), s});
      for (int b : step.operands) slots_.push_back(SlotOf(graph, locations[b]));
      for (int b : step.results) slots_.push_back(SlotOf(graph, locations[b]));
      cost_ns_ += launch.cost_ns;
      scratch_bytes_ = std::max(scratch_bytes_, launch.scratch_bytes);
    }
  }

  Slot SlotOf(const StepGraph& graph, const Location& location) const {
    const auto offset = static_cast<uintptr_t>(location.offset);
    switch (location.base) {
      case Location::Base::kArena:
        return {0, offset};
      case Location::Base::kConstant:
        return {1, reinterpret_cast<uintptr_t>(graph.constants[location.index].raw())};
      case Location::Base::kParameter:
        return {2 + location.index, offset};
      case Location::Base::kResult:
        return {first_result_ + location.index, offset};
      case Location::Base::kWeights:
        return {first_group_ + location.index, offset};
      case Location::Base::kNowhere:
        break;
    }
    return {1, 0};
  }

  int first_result() const { return first_result_; }
  int first_group() const { return first_group_; }
  int num_bases() const { return num_bases_; }
  int64_t scratch_bytes() const { return AlignUp(scratch_bytes_); }
  // Bytes that Run wants after the arena: scratch, bases, pointers.
  int64_t working_bytes() const {
    return scratch_bytes() + static_cast<int64_t>((num_bases_ + slots_.size()) * sizeof(void*));
  }

  // The bases lie where Run looks for them; `working` has working_bytes().
  uintptr_t* Bases(std::byte* working) const {
    return reinterpret_cast<uintptr_t*>(working + scratch_bytes());
  }
  // `times` is by step, or empty.
  void Run(std::byte* working, const HostPool& pool,
           std::vector<Executable::StepTime>& times) const {
    const uintptr_t* bases = Bases(working);
    auto* pointers = reinterpret_cast<void**>(working + scratch_bytes()) + num_bases_;
    for (size_t i = 0; i < slots_.size(); ++i) {
      pointers[i] = reinterpret_cast<void*>(bases[slots_[i].base] + slots_[i].offset);
    }
    ThreadTeam team(pool, cost_ns_, scratch_bytes_, working);
    for (const PlannedStep& step : steps_) {
      if (times.empty()) {
        team.Run(*step.kernel, step.launch, pointers + step.first_slot, nullptr);
        continue;
      }
      Stopwatch watch;
      team.Run(*step.kernel, step.launch, pointers + step.first_slot, nullptr);
      Executable::StepTime& time = times[step.step];
      time.nanoseconds.fetch_add(static_cast<int64_t>(watch.Seconds() * 1e9),
                                 std::memory_order_relaxed);
      time.runs.fetch_add(1, std::memory_order_relaxed);
    }
  }

 private:
  int first_result_, first_group_, num_bases_;
  std::vector<Slot> slots_;
  std::vector<PlannedStep> steps_;
  double cost_ns_ = 0;
  int64_t scratch_bytes_ = 0;
};

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

struct Executable::CallPlan {
  BufferPlan buffers;
  PointerTable pointers;
  std::vector<Slot> output_slots;  // where outputs that are copied or checked lie
  int64_t memory_bytes = 0;

  CallPlan(const StepGraph& graph, BufferPlan plan)
      : buffers(std::move(plan)), pointers(graph, buffers.steps, buffers.locations) {
    for (const GraphOutput& output : graph.outputs) {
      output_slots.push_back(pointers.SlotOf(graph, buffers.locations[output.buffer]));
    }
    memory_bytes = buffers.arena_bytes + pointers.working_bytes();
  }
};

struct Executable::WeightState {
  std::vector<uint64_t> versions;                          // of versioned_
  std::vector<std::shared_ptr<const WeightBlock>> blocks;  // by group; null: not kept
  std::shared_ptr<const CallPlan> plan;
};

Executable::Executable(StepGraph graph, Options options)
    : graph_(std::move(graph)), options_(std::move(options)) {
  std::vector<const std::vector<uint64_t>*> signatures;
  for (const WeightGroup& group : graph_.groups) {
    signatures.push_back(&group.signature);
    versioned_.insert(versioned_.end(), group.parameters.begin(), group.parameters.end());
  }
  if (options_.profile) step_times_ = std::vector<StepTime>(graph_.steps.size());
  std::sort(versioned_.begin(), versioned_.end());
  versioned_.erase(std::unique(versioned_.begin(), versioned_.end()), versioned_.end());
  entries_ = options_.weights->Register(this, signatures);
}

std::shared_ptr<Executable> Executable::Create(StepGraph graph, Options options) {
  std::shared_ptr<Executable> executable(new Executable(std::move(graph), std::move(options)));
  std::lock_guard<std::mutex> lock(executable->options_.weights->mutex());
  const auto plan = executable->PlanFor(std::vector<bool>(executable->graph_.groups.size(), true));
  executable->arena_bytes_ = plan->buffers.arena_bytes;
  executable->max_live_bytes_ = plan->buffers.max_live_bytes;
  return executable;
}

Executable::~Executable() {
  std::vector<const std::vector<uint64_t>*> signatures;
  for (const WeightGroup& group : graph_.groups) signatures.push_back(&group.signature);
  options_.weights->Unregister(this, signatures);
}

void Executable::ReleaseWeights() {
  std::shared_ptr<const WeightState> released;  // freed after the lock is
  std::lock_guard<std::mutex> lock(state_mutex_);
  released.swap(state_);
}

HostPool Executable::Limited(HostPool pool) const {
  if (options_.max_parallelism > 0) {
    pool.num_threads = std::min(pool.num_threads, options_.max_parallelism - 1);
  }
  return pool;
}

std::shared_ptr<const Executable::CallPlan> Executable::PlanFor(std::vector<bool> kept) {
  auto it = plans_.find(kept);
  if (it != plans_.end()) return it->second;
  if (plans_.size() >= kMostPlans) {
    kept.assign(kept.size(), false);
    it = plans_.find(kept);
    if (it != plans_.end()) return it->second;
  }
  auto plan =
      std::make_shared<const CallPlan>(graph_, PlanBuffers(graph_, kept, options_.num_checks));
  plans_.emplace(std::move(kept), plan);
  return plan;
}

std::shared_ptr<const Executable::WeightState> Executable::Weights(
    absl::Span<const Argument> arguments, CallHost& host) {
  auto fits = [&](const WeightState& state) {
    for (size_t i = 0; i < versioned_.size(); ++i) {
      if (arguments[versioned_[i]].version != state.versions[i]) return false;
    }
    return true;
  };
  {
    std::lock_guard<std::mutex> lock(state_mutex_);
    if (state_ != nullptr && fits(*state_)) return state_;
  }

  std::lock_guard<std::mutex> computing(options_.weights->mutex());
  {
    // Another call may have been here while this one waited.
    std::lock_guard<std::mutex> lock(state_mutex_);
    if (state_ != nullptr && fits(*state_)) return state_;
  }
  auto state = std::make_shared<WeightState>();
  for (int p : versioned_) state->versions.push_back(arguments[p].version);
  std::vector<bool> kept;
  for (size_t g = 0; g < graph_.groups.size(); ++g) {
    WeightStore::Entry* entry = entries_[g];
    std::vector<uint64_t> versions;
    bool known = true;
    for (int p : graph_.groups[g].parameters) {
      versions.push_back(arguments[p].version);
      known = known && arguments[p].version != 0;
    }
    std::shared_ptr<const WeightBlock> block;
    if (known && entry->block != nullptr && entry->versions == versions) {
      block = entry->block;
    } else {
      // Dropped first: at no time are old and new results of a group both held for later calls.
      options_.weights->Publish(entry, {}, nullptr, this);
      if (known) {
        block = ComputeGroup(static_cast<int>(g), arguments, Limited(host.Pool()));
        options_.weights->Publish(entry, std::move(versions), block, this);
      }
    }
    kept.push_back(block != nullptr);
    state->blocks.push_back(std::move(block));
  }
  state->plan = PlanFor(std::move(kept));
  std::lock_guard<std::mutex> lock(state_mutex_);
  state_ = state;
  return state;
}

std::shared_ptr<const WeightBlock> Executable::ComputeGroup(int group,
                                                            absl::Span<const Argument> arguments,
                                                            const HostPool& pool) const {
  const GroupPlan plan = PlanGroup(graph_, group);
  auto block = WeightBlock::Create(options_.weights->budget(), plan.block_bytes);
  if (block == nullptr) return nullptr;
  const PointerTable pointers(graph_, graph_.groups[group].steps, plan.locations);
  // Not from the pool, which would keep it: this happens once.
  const AlignedBlock arena = AlignedBlock::Allocate(plan.arena_bytes + pointers.working_bytes());
  if (arena.data() == nullptr) return nullptr;
  std::byte* working = arena.data() + plan.arena_bytes;
  uintptr_t* bases = pointers.Bases(working);
  std::fill(bases, bases + pointers.num_bases(), 0);
  bases[0] = Address(arena.data());
  for (int p : graph_.groups[group].parameters) bases[2 + p] = Address(arguments[p].data);
  bases[pointers.first_group() + group] = Address(block->data());
  pointers.Run(working, pool, step_times_);
  return block;
}

std::string Executable::PlanText() const {
  const BufferPlan plan =
      PlanBuffers(graph_, std::vector<bool>(graph_.groups.size(), true), options_.num_checks);
  std::string text = absl::StrCat("arena ", plan.arena_bytes, " bytes, at most ",
                                  plan.max_live_bytes, " alive at once; ", plan.in_place,
                                  " results in place; ", graph_.groups.size(), " weight groups\n");
  auto append_buffer = [&](int b) {
    static constexpr const char* kBases[] = {"-",        "arena",  "parameter",
                                             "constant", "result", "weights"};
    const Location& location = plan.locations[b];
    absl::StrAppend(&text, " ", kBases[static_cast<int>(location.base)], location.index, "+",
                    location.offset, ":", graph_.buffers[b].bytes);
  };
  for (size_t s = 0; s < graph_.steps.size(); ++s) {
    const Step& step = graph_.steps[s];
    const backend::LaunchPlan launch = step.kernel->Plan({});
    absl::StrAppend(&text, step.group < 0 ? "call " : "once ", s, " ", step.name, ": ",
                    launch.num_chunks, " chunks, ", static_cast<int64_t>(launch.cost_ns), " ns,");
    for (int b : step.operands) append_buffer(b);
    text += " ->";
    for (int b : step.results) append_buffer(b);
    text += '\n';
  }
  return text;
}

absl::Status Executable::Run(absl::Span<const Argument> arguments, CallHost& host) {
  if (arguments.size() != graph_.parameters.size()) {
    return InvalidArgument("expected ", graph_.parameters.size(), " arguments, got ",
                           arguments.size());
  }
  const std::shared_ptr<const WeightState> weights = Weights(arguments, host);
  return RunPlan(*weights->plan, *weights, arguments, host);
}

absl::Status Executable::RunPlan(const CallPlan& plan, const WeightState& weights,
                                 absl::Span<const Argument> arguments, CallHost& host) {
  const ArenaPool::Lease arena = options_.arenas->Acquire(plan.memory_bytes);
  if (arena.data() == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for an arena of ", plan.memory_bytes, " bytes"));
  }
  std::byte* working = arena.data() + plan.buffers.arena_bytes;
  const PointerTable& pointers = plan.pointers;
  uintptr_t* bases = pointers.Bases(working);
  bases[0] = Address(arena.data());
  bases[1] = 0;
  for (size_t p = 0; p < arguments.size(); ++p) bases[2 + p] = Address(arguments[p].data);

  const int num_outputs = static_cast<int>(graph_.outputs.size());
  uintptr_t* results = bases + pointers.first_result();
  for (int k = 0; k < num_outputs; ++k) {
    const OutputPlan& output = plan.buffers.outputs[k];
    results[k] = 0;
    if (output.kind == OutputPlan::Kind::kCheck) continue;
    if (output.kind == OutputPlan::Kind::kForward && host.Forward(k, output.from)) continue;
    const TensorType& type = graph_.outputs[k].type;
    results[k] = Address(host.Allocate(k, type));
    if (results[k] == 0 && ir::Product(type.dims) != 0) {
      return absl::ResourceExhaustedError(absl::StrCat("no memory for result ", k));
    }
  }
  for (size_t g = 0; g < weights.blocks.size(); ++g) {
    const WeightBlock* block = weights.blocks[g].get();
    bases[pointers.first_group() + g] = block == nullptr ? 0 : Address(block->data());
  }

  pointers.Run(working, Limited(host.Pool()), step_times_);

  for (int k = 0; k < num_outputs; ++k) {
    const OutputPlan::Kind kind = plan.buffers.outputs[k].kind;
    if (kind == OutputPlan::Kind::kDirect) continue;
    const Slot& slot = plan.output_slots[k];
    const auto* from = reinterpret_cast<const std::byte*>(bases[slot.base] + slot.offset);
    if (kind == OutputPlan::Kind::kCheck) {
      if (*reinterpret_cast<const bool*>(from)) continue;
      return absl::FailedPreconditionError("a check of the values failed");
    }
    const int64_t bytes = graph_.buffers[graph_.outputs[k].buffer].bytes;
    if (results[k] != 0 && bytes != 0) {
      std::memcpy(reinterpret_cast<void*>(results[k]), from, bytes);
    }
  }
  return absl::OkStatus();
}

}  // namespace tektite::runtime
