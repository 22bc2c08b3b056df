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

// More sets of kept groups than this, and the versions come and go without a pattern: nothing is
// kept.
constexpr size_t kMostPlans = 8;

uint64_t NextNumber() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

struct Executable::WeightState {
  std::vector<uint64_t> versions;                          // of versioned_
  std::vector<std::shared_ptr<const WeightBlock>> blocks;  // by group; null: not kept
  std::shared_ptr<const CallPlan> plan;
};

Executable::Executable(StepGraph graph, Options options)
    : number_(NextNumber()), graph_(std::move(graph)), options_(std::move(options)) {
  std::vector<const std::vector<uint64_t>*> signatures;
  signatures.reserve(graph_.groups.size());
  versioned_.reserve(graph_.parameters.size());
  for (const WeightGroup& group : graph_.groups) {
    signatures.push_back(&group.signature);
    versioned_.insert(versioned_.end(), group.parameters.begin(), group.parameters.end());
  }
  if (options_.profile) {
    step_times_ = std::vector<StepTime>(graph_.steps.size());
    call_times_ = std::make_unique<CallTimes>();
  }
  std::sort(versioned_.begin(), versioned_.end());
  versioned_.erase(std::unique(versioned_.begin(), versioned_.end()), versioned_.end());
  entries_ = options_.weights->Register(this, signatures);
}

std::shared_ptr<Executable> Executable::Create(StepGraph graph, Options options) {
  std::shared_ptr<Executable> executable(new Executable(std::move(graph), std::move(options)));
  std::lock_guard<std::mutex> lock(executable->options_.weights->mutex());
  const auto plan = executable->PlanFor(std::vector<bool>(executable->graph_.groups.size(), true));
  executable->arena_bytes_ = plan->buffers().arena.layout().bytes;
  executable->max_live_bytes_ = plan->buffers().arena.layout().max_live_bytes;
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

HostPool Executable::PoolOf(CallHost& host) const {
  HostPool pool = host.Pool();
  if (options_.max_parallelism > 0) {
    pool.num_threads = std::min(pool.num_threads, options_.max_parallelism - 1);
  }
  if (!pool.is_shared) pool.spin_ns = options_.spin_ns;
  return pool;
}

std::shared_ptr<const CallPlan> Executable::PlanFor(std::vector<bool> kept) {
  auto it = plans_.find(kept);
  if (it != plans_.end()) return it->second;
  if (plans_.size() >= kMostPlans) {
    kept.assign(kept.size(), false);
    it = plans_.find(kept);
    if (it != plans_.end()) return it->second;
  }
  auto plan = std::make_shared<const CallPlan>(
      graph_, PlanBuffers(graph_, kept, options_.roles, /*forms_rounds=*/!options_.profile));
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
        block = ComputeGroup(static_cast<int>(g), arguments, PoolOf(host));
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
  const std::vector<int>& steps = graph_.groups[group].steps;
  Launch launch(graph_, steps, SeparateRounds(steps.size()), plan.locations);
  if (!launch.Place({}, plan.arena.offsets, {})) return nullptr;
  // Not from the pool, which would keep it: this happens once.
  const AlignedBlock arena = AlignedBlock::Allocate(plan.arena.bytes + launch.working_bytes(),
                                                    options_.weights->budget()->memory());
  if (arena.data() == nullptr) return nullptr;
  std::byte* working = arena.data() + plan.arena.bytes;
  uintptr_t* bases = launch.Bases(working);
  std::fill(bases, bases + launch.num_bases(), 0);
  bases[0] = Address(arena.data());
  for (int p : graph_.groups[group].parameters) bases[2 + p] = Address(arguments[p].data);
  bases[launch.first_group() + group] = Address(block->data());
  launch.Run(0, launch.num_steps(), working, pool, step_times_, nullptr, [] { return false; });
  return block;
}

std::string Executable::PlanText() const {
  const BufferPlan plan = PlanBuffers(graph_, std::vector<bool>(graph_.groups.size(), true),
                                      options_.roles, /*forms_rounds=*/!options_.profile);
  const ArenaLayout& layout = plan.arena.layout();
  std::string text = absl::StrCat("arena ", layout.bytes, " bytes, at most ", layout.max_live_bytes,
                                  " alive at once; ", plan.in_place, " results in place; ",
                                  graph_.groups.size(), " weight groups\n");
  for (size_t i = 0; i < graph_.sources.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "sizes here: " : ", ", graph_.program.symbols()[i], " = ",
                    graph_.typical_sizes[i], i + 1 == graph_.sources.size() ? "\n" : "");
  }
  for (const SizeCheck& check : graph_.checks) absl::StrAppend(&text, "needs ", check.text, "\n");
  auto append_buffer = [&](int b) {
    static constexpr const char* kBases[] = {"-",      "arena",   "parameter", "constant",
                                             "result", "weights", "sizes"};
    const Location& location = plan.locations[b];
    const bool arena = location.base == Location::Base::kArena;
    absl::StrAppend(&text, " ", kBases[static_cast<int>(location.base)], arena ? 0 : location.index,
                    "+", arena ? layout.offsets[location.index] : location.offset, ":",
                    graph_.buffers[b].typical_bytes);
  };
  for (size_t s = 0; s < graph_.steps.size(); ++s) {
    const Step& step = graph_.steps[s];
    const backend::LaunchPlan launch = PlanAtTypicalSizes(graph_, step);
    absl::StrAppend(&text, step.group < 0 ? "call " : "once ", s, " ",
                    graph_.names.empty() ? "" : graph_.names[s], ": ", launch.num_chunks,
                    " chunks, ", static_cast<int64_t>(launch.cost_ns), " ns,");
    for (int b : step.operands) append_buffer(b);
    text += " ->";
    for (int b : step.results) append_buffer(b);
    text += '\n';
  }
  return text + RoundsText(plan.steps, plan.rounds);
}

Executable::Sizes Executable::SizesOf(absl::Span<const Argument> arguments) const {
  Sizes sizes;
  for (const SymbolSource& source : graph_.sources) {
    const Argument& argument = arguments[source.parameter];
    if (source.dimension >= 0) {
      sizes.push_back(argument.dims[source.dimension]);
    } else if (source.dtype == ir::DType::kS64) {
      sizes.push_back(static_cast<const int64_t*>(argument.data)[source.element]);
    } else {
      sizes.push_back(static_cast<const int32_t*>(argument.data)[source.element]);
    }
  }
  return sizes;
}

absl::Status Executable::Run(absl::Span<const Argument> arguments, CallHost& host) {
  if (arguments.size() != graph_.parameters.size()) {
    return InvalidArgument("expected ", graph_.parameters.size(), " arguments, got ",
                           arguments.size());
  }
  const std::shared_ptr<const WeightState> weights = Weights(arguments, host);
  const std::shared_ptr<const SizedPlan> plan = weights->plan->For(SizesOf(arguments));
  if (!plan->status.ok()) return plan->status;
  return RunPlan(weights->plan->buffers(), *plan, *weights, arguments, host);
}

absl::Status Executable::AllocateResults(const BufferPlan& buffers, const SizedPlan& plan,
                                         uintptr_t* results, CallHost& host) const {
  const int num_results = static_cast<int>(graph_.outputs.size() - options_.roles.updated.size());
  std::fill(results + num_results, results + graph_.outputs.size(), 0);
  for (int k = 0; k < num_results; ++k) {
    const OutputPlan& output = buffers.outputs[k];
    const bool direct = output.kind == OutputPlan::Kind::kDirect;
    const bool forward = output.kind == OutputPlan::Kind::kForward;
    results[k] = 0;
    if (!direct && !forward && output.kind != OutputPlan::Kind::kCopy) continue;
    if (forward && host.Forward(k, output.from)) continue;
    results[k] = Address(host.Allocate(k, plan.results[k]));
    if (results[k] == 0 && plan.output_bytes[k] != 0) {
      return absl::ResourceExhaustedError(absl::StrCat("no memory for result ", k));
    }
  }
  return absl::OkStatus();
}

absl::Status Executable::FinishByValues(const BufferPlan& buffers, const SizedPlan& plan,
                                        const uintptr_t* bases, CallHost& host) const {
  const int num_outputs = static_cast<int>(graph_.outputs.size());
  for (int k = 0; k < num_outputs; ++k) {
    if (buffers.outputs[k].kind != OutputPlan::Kind::kCheck) continue;
    if (*reinterpret_cast<const bool*>(plan.OutputAddress(k, bases))) continue;
    return absl::FailedPreconditionError("a check of the values failed");
  }
  for (int k = 0; k < num_outputs; ++k) {
    const OutputPlan& output = buffers.outputs[k];
    if (output.kind != OutputPlan::Kind::kRows) continue;
    TensorType type = plan.results[k];
    const int64_t most = type.dims[0];
    const int64_t rows = *reinterpret_cast<const int64_t*>(plan.OutputAddress(output.from, bases));
    if (rows < 0 || rows > most) return Internal("result ", k, " has ", rows, " rows of ", most);
    type.dims[0] = rows;
    const int64_t bytes = most == 0 ? 0 : plan.output_bytes[k] / most * rows;
    void* const to = host.Allocate(k, type);
    if (bytes == 0) continue;
    if (to == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat("no memory for result ", k));
    }
    std::memcpy(to, plan.OutputAddress(k, bases), bytes);
  }
  return absl::OkStatus();
}

absl::Status Executable::BeginUpdates(const BufferPlan& buffers, uintptr_t* results,
                                      CallHost& host) {
  if (buffers.updates.empty()) return absl::OkStatus();
  absl::InlinedVector<CallHost::Update, 16> updates;
  for (const UpdatePlan& update : buffers.updates) {
    updates.push_back({update.parameter, update.in_place, nullptr});
  }
  if (!host.BeginUpdates(absl::MakeSpan(updates))) {
    return absl::FailedPreconditionError("the host does not allow updates");
  }
  for (size_t i = 0; i < updates.size(); ++i) {
    results[buffers.updates[i].output] = Address(updates[i].memory);
  }
  return absl::OkStatus();
}

void Executable::CopyResults(const BufferPlan& buffers, const SizedPlan& plan,
                             const uintptr_t* bases) const {
  for (int k = 0; k < static_cast<int>(graph_.outputs.size()); ++k) {
    const OutputPlan::Kind kind = buffers.outputs[k].kind;
    if (kind != OutputPlan::Kind::kCopy && kind != OutputPlan::Kind::kForward) continue;
    const uintptr_t to = bases[plan.launch.first_result() + k];
    if (to == 0 || plan.output_bytes[k] == 0) continue;
    std::memcpy(reinterpret_cast<void*>(to), plan.OutputAddress(k, bases), plan.output_bytes[k]);
  }
}

absl::Status Executable::RunPlan(const BufferPlan& buffers, const SizedPlan& plan,
                                 const WeightState& weights, absl::Span<const Argument> arguments,
                                 CallHost& host) {
  const ArenaPool::Lease arena = options_.arenas->Acquire(plan.memory_bytes);
  if (arena.data() == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for an arena of ", plan.memory_bytes, " bytes"));
  }
  std::byte* working = arena.data() + plan.arena_bytes;
  uintptr_t* bases = plan.launch.Bases(working);
  bases[0] = Address(arena.data());
  bases[1] = 0;
  for (size_t p = 0; p < arguments.size(); ++p) bases[2 + p] = Address(arguments[p].data);

  uintptr_t* results = bases + plan.launch.first_result();
  TEKTITE_RETURN_IF_ERROR(AllocateResults(buffers, plan, results, host));
  for (size_t g = 0; g < weights.blocks.size(); ++g) {
    const WeightBlock* block = weights.blocks[g].get();
    bases[plan.launch.first_group() + g] = block == nullptr ? 0 : Address(block->data());
  }

  const HostPool pool = PoolOf(host);
  const auto run = [&](int begin, int end, absl::FunctionRef<bool()> is_cancelled) {
    return begin == end ||
           plan.launch.Run(begin, end, working, pool, step_times_, call_times_.get(), is_cancelled);
  };
  if (!run(0, buffers.num_before_updates, [&] { return host.IsCancelled(); })) {
    return absl::CancelledError("the host has cancelled the call");
  }
  TEKTITE_RETURN_IF_ERROR(FinishByValues(buffers, plan, bases, host));
  TEKTITE_RETURN_IF_ERROR(BeginUpdates(buffers, results, host));
  run(buffers.num_before_updates, plan.launch.num_steps(), [] { return false; });
  CopyResults(buffers, plan, bases);
  return absl::OkStatus();
}

}  // namespace tektite::runtime
