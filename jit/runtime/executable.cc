#include "jit/runtime/executable.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "jit/base/status.h"
#include "jit/base/timing.h"
#include "jit/runtime/call_sampling.h"
#include "jit/runtime/executable_call.h"
#include "jit/runtime/staged_arguments.h"

namespace tektite::runtime {
namespace {

// More sets of kept groups than this, and the versions come and go without a pattern: nothing is
// kept.
constexpr size_t kMostPlans = 8;

absl::string_view WhenRun(const StepGraph& graph, const Step& step) {
  if (step.group < 0) return "call ";
  return graph.groups[step.group].deferred ? "late " : "once ";
}

uint64_t NextNumber() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

backend::LaunchConfig ConfigAtTypicalSizes(const StepGraph& graph, const Step& step) {
  std::vector<int64_t> sizes;
  for (int symbol : step.symbols) sizes.push_back(graph.typical_sizes[symbol]);
  return step.kernel->Configure(sizes);
}

}  // namespace

Executable::Executable(StepGraph graph, Options options)
    : number_(NextNumber()),
      graph_(std::move(graph)),
      options_(std::move(options)),
      device_(options_.arenas->device()),
      is_host_(device_->is_host()) {
  ready_ = PlaceConstants();
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
  if (!options.arenas->device()->is_host()) {
    for (WeightGroup& group : graph.groups) group.deferred = false;
  }
  std::shared_ptr<Executable> executable(new Executable(std::move(graph), std::move(options)));
  std::lock_guard<std::mutex> lock(executable->options_.weights->mutex());
  const auto plan =
      executable->SizedCallsFor(std::vector<bool>(executable->graph_.groups.size(), true));
  executable->arena_bytes_ = plan->buffers().arena.layout().bytes;
  executable->max_live_bytes_ = plan->buffers().arena.layout().max_live_bytes;
  return executable;
}

Executable::~Executable() {
  std::vector<const std::vector<uint64_t>*> signatures;
  for (const WeightGroup& group : graph_.groups) signatures.push_back(&group.signature);
  options_.weights->Unregister(this, signatures);
}

void Executable::ReleaseWeights() { SetState(nullptr); }

void Executable::SetState(std::shared_ptr<const WeightState> state) {
  const int unpacked = state == nullptr ? 0 : static_cast<int>(state->unpacked.size());
  // What was there before is freed after the lock is.
  std::lock_guard<std::mutex> lock(state_mutex_);
  num_unpacked_.store(unpacked, std::memory_order_relaxed);
  state_.swap(state);
}

HostPool Executable::PoolOf(CallHost& host) const {
  HostPool pool = host.Pool();
  if (!pool.is_shared) pool.spin_ns = options_.spin_ns;
  return pool;
}

int Executable::WeightOfCall() const {
  if (!options_.profile) return 0;
  const int weight = runtime::WeightOfCall(calls_.fetch_add(1, std::memory_order_relaxed));
  if (weight > 0) timed_calls_.fetch_add(1, std::memory_order_relaxed);
  return weight;
}

// The host's kernels read the graph's own; a device is given a copy.
absl::Status Executable::PlaceConstants() {
  residence_.memory = &device_->memory();
  for (const ir::Literal& constant : graph_.constants) {
    residence_.constants.push_back(constant.raw());
  }
  if (is_host_) return absl::OkStatus();
  auto on_device = std::make_shared<OnDevice>();
  on_device_ = on_device;
  for (const Step& step : graph_.steps) {
    if (step.kernel != nullptr) on_device->kernels.push_back(step.kernel);
  }
  if (graph_.constants.empty()) return absl::OkStatus();
  int64_t bytes = 0;
  for (const ir::Literal& constant : graph_.constants) {
    bytes += AlignUp(constant.shape().num_bytes());
  }
  on_device->constants = device_->memory().Allocate(bytes);
  if (on_device->constants.data() == nullptr) {
    residence_.constants.assign(graph_.constants.size(), nullptr);
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for constants of ", bytes, " bytes"));
  }
  return device_->WithStream({}, [&](backend::Stream& stream) {
    std::byte* to = on_device->constants.data();
    for (size_t c = 0; c < graph_.constants.size(); ++c) {
      const ir::Literal& constant = graph_.constants[c];
      stream.CopyFromHost(to, constant.raw(), constant.shape().num_bytes());
      residence_.constants[c] = to;
      to += AlignUp(constant.shape().num_bytes());
    }
    return stream.Synchronize();
  });
}

BufferAssignment Executable::AssignBuffersFor(const std::vector<bool>& kept) const {
  return AssignBuffers(graph_, kept, options_.roles,
                       /*forms_rounds=*/is_host_ && !options_.profile);
}

std::shared_ptr<const SizedCalls> Executable::SizedCallsFor(std::vector<bool> kept) {
  auto it = plans_.find(kept);
  if (it != plans_.end()) return it->second;
  if (plans_.size() >= kMostPlans) {
    kept.assign(kept.size(), false);
    it = plans_.find(kept);
    if (it != plans_.end()) return it->second;
  }
  auto plan = std::make_shared<const SizedCalls>(graph_, residence_, AssignBuffersFor(kept));
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
    const int group = static_cast<int>(g);
    Versions versions = VersionsOf(group, arguments);
    std::shared_ptr<const WeightBlock> block;
    if (graph_.groups[g].deferred) {
      block = DeferredBlock(group, versions);
      if (versions.are_known && block == nullptr) state->unpacked.push_back(group);
    } else if (versions.are_known && entry->block != nullptr && entry->versions == versions.list) {
      block = entry->block;
    } else {
      // Dropped first: at no time are old and new results of a group both held for later calls.
      options_.weights->Publish(entry, {}, nullptr, this);
      if (versions.are_known) {
        block = ComputeGroup(group, arguments, host);
        options_.weights->Publish(entry, std::move(versions.list), block, this);
      }
    }
    // Whether a deferred group is packed makes no difference to the plan.
    kept.push_back(block != nullptr || graph_.groups[g].deferred);
    state->blocks.push_back(std::move(block));
  }
  state->plan = SizedCallsFor(std::move(kept));
  SetState(state);
  return state;
}

Executable::Versions Executable::VersionsOf(int group, absl::Span<const Argument> arguments) const {
  Versions versions;
  const bool waits = graph_.groups[group].deferred;
  for (int p : graph_.groups[group].parameters) {
    // Packing is behind the call, which has changed what it updates.
    if (waits && absl::c_linear_search(options_.roles.updated, p)) versions.are_known = false;
    versions.list.push_back(arguments[p].version);
    versions.are_known = versions.are_known && arguments[p].version != 0;
  }
  return versions;
}

std::shared_ptr<const WeightBlock> Executable::DeferredBlock(int group, const Versions& versions) {
  WeightStore& store = *options_.weights;
  WeightStore::Entry* entry = entries_[group];
  entry->deferral.See(versions.list, versions.are_known, store.packing_time().calls());
  if (versions.are_known && entry->versions == versions.list) return entry->block;
  store.Publish(entry, versions.list, nullptr, this);
  return nullptr;
}

const void* Executable::OperandOfDeferred(int group, absl::Span<const Argument> arguments) const {
  const Step& step = graph_.steps[graph_.groups[group].steps.front()];
  const Buffer& buffer = graph_.buffers[step.operands[0]];
  return buffer.kind == Buffer::Kind::kConstant ? residence_.constants[buffer.index]
                                                : arguments[buffer.index].data;
}

void Executable::PackLater(const std::shared_ptr<const WeightState>& state,
                           absl::Span<const Argument> arguments, int64_t nanoseconds) {
  WeightStore& store = *options_.weights;
  const std::unique_lock<std::mutex> packing(store.mutex(), std::try_to_lock);
  if (!packing.owns_lock()) return;  // another call packs
  {
    std::lock_guard<std::mutex> lock(state_mutex_);
    if (state_ != state) return;
  }
  int64_t left = store.packing_time().Earn(nanoseconds);
  if (left <= 0) return;
  std::shared_ptr<WeightState> next;
  for (int g : state->unpacked) {
    const std::vector<uint64_t> versions = VersionsOf(g, arguments).list;
    left -= PackGroup(g, versions, arguments, left);
    // Another executable of the store may have packed it.
    const WeightStore::Entry& entry = *entries_[g];
    const bool is_there = entry.block != nullptr && entry.versions == versions;
    if (!is_there && entry.deferral.WaitsFor(versions)) continue;
    if (next == nullptr) next = std::make_shared<WeightState>(*state);
    if (is_there) next->blocks[g] = entry.block;
    next->unpacked.erase(absl::c_find(next->unpacked, g));
  }
  if (next != nullptr) SetState(std::move(next));
}

int64_t Executable::PackGroup(int group, const std::vector<uint64_t>& versions,
                              absl::Span<const Argument> arguments, int64_t left) {
  WeightStore& store = *options_.weights;
  WeightStore::Entry* entry = entries_[group];
  Deferral& deferral = entry->deferral;
  if (left <= 0 || entry->block != nullptr || !deferral.WaitsFor(versions) ||
      !deferral.IsQuiet(store.packing_time().calls())) {
    return 0;
  }
  const int64_t begin = Nanoseconds();
  if (PackUntil(begin + left, graph_, group, OperandOfDeferred(group, arguments), store.budget(),
                &deferral)) {
    store.Publish(entry, versions, deferral.Take(), this);
  }
  const int64_t took = Nanoseconds() - begin;
  store.packing_time().Spend(took);
  return took;
}

std::shared_ptr<const WeightBlock> Executable::ComputeGroup(int group,
                                                            absl::Span<const Argument> arguments,
                                                            CallHost& host) const {
  const GroupAssignment plan = AssignGroup(graph_, group);
  auto block = WeightBlock::Create(options_.weights->budget(), plan.block_bytes);
  if (block == nullptr) return nullptr;
  const std::vector<int>& steps = graph_.groups[group].steps;
  Launch launch(graph_, residence_, steps, SeparateRounds(steps.size()), plan.locations);
  if (!launch.Place({}, plan.arena)) return nullptr;
  // Weights have static shapes, and here as everywhere the host's are copied to a device.
  StagedArguments staged;
  int64_t bytes = plan.arena.bytes + launch.scratch_bytes();
  const std::vector<int>& parameters = graph_.groups[group].parameters;
  for (const Buffer& buffer : graph_.buffers) {
    if (is_host_ || buffer.kind != Buffer::Kind::kParameter) continue;
    const bool is_read = absl::c_linear_search(parameters, buffer.index);
    if (is_read && StagedArguments::MustStage(arguments[buffer.index])) {
      staged.Add(buffer.index, buffer.typical_bytes, &bytes);
    }
  }
  // Not from the pool, which would keep it: this happens once.
  const backend::Block arena = device_->memory().Allocate(bytes);
  if (arena.data() == nullptr) return nullptr;
  std::vector<uintptr_t> bases(launch.num_bases());
  std::vector<void*> pointers(launch.num_slots());
  bases[Slot::kArena] = Address(arena.data());
  for (int p : parameters) bases[Slot::kFirstParameter + p] = Address(arguments[p].data);
  staged.SetBases(arena.data(), bases.data());
  bases[launch.first_group() + group] = Address(block->data());
  const HostPool pool = PoolOf(host);
  backend::StreamOptions options;
  options.pool = pool;
  options.host_stream = host.DeviceStream();
  options.cost_ns = launch.CostNs(0, launch.num_steps());
  options.scratch_bytes = launch.scratch_bytes();
  options.scratch = arena.data() + plan.arena.bytes;
  const absl::Status status = device_->WithStream(options, [&](backend::Stream& stream) {
    staged.CopyIn(stream, arena.data(), arguments);
    Watch watch(*this, host, /*weight=*/options_.profile ? 1 : 0);
    TEKTITE_RETURN_IF_ERROR(launch.Run(0, launch.num_steps(), bases.data(), pointers.data(), stream,
                                       pool, watch.IfAsked()));
    return stream.Synchronize();
  });
  return status.ok() ? block : nullptr;
}

std::string Executable::PlanText() const {
  const BufferAssignment plan = AssignBuffersFor(std::vector<bool>(graph_.groups.size(), true));
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
    if (step.region >= 0) absl::StrAppend(&text, "  in region ", step.region, " ");
    absl::StrAppend(&text, WhenRun(graph_, step), s, " ",
                    graph_.names.empty() ? "" : graph_.names[s], ":");
    if (step.kernel != nullptr) {
      const backend::LaunchConfig launch = ConfigAtTypicalSizes(graph_, step);
      absl::StrAppend(&text, " ", launch.num_chunks, " chunks, ",
                      static_cast<int64_t>(launch.cost_ns), " ns,");
    }
    for (int b : step.operands) append_buffer(b);
    text += " ->";
    for (int b : step.results) append_buffer(b);
    text += '\n';
  }
  return text + RoundsText(plan.steps, plan.rounds);
}

absl::StatusOr<Executable::Sizes> Executable::SizesOf(absl::Span<const Argument> arguments,
                                                      CallHost& host) const {
  Sizes sizes;
  for (const SymbolSource& source : graph_.sources) {
    const Argument& argument = arguments[source.parameter];
    if (source.dimension >= 0) {
      sizes.push_back(argument.dims[source.dimension]);
      continue;
    }
    const bool is_wide = source.dtype == ir::DType::kS64;
    const int64_t bytes = is_wide ? sizeof(int64_t) : sizeof(int32_t);
    const auto* element = static_cast<const std::byte*>(argument.data) + source.element * bytes;
    int64_t wide = 0;
    int32_t narrow = 0;
    void* const value = is_wide ? static_cast<void*>(&wide) : &narrow;
    if (argument.space == MemorySpace::kHost) {
      std::memcpy(value, element, bytes);
    } else {
      backend::StreamOptions options;
      options.host_stream = host.DeviceStream();
      TEKTITE_RETURN_IF_ERROR(device_->WithStream(options, [&](backend::Stream& stream) {
        stream.CopyToHost(value, element, bytes);
        return stream.Synchronize();
      }));
    }
    sizes.push_back(is_wide ? wide : narrow);
  }
  return sizes;
}

absl::Status Executable::CheckSpaces(absl::Span<const Argument> arguments, CallHost& host) const {
  if (!is_host_) {
    const absl::Status status = device_->status();
    return status.ok() ? ready_ : status;
  }
  for (size_t p = 0; p < arguments.size(); ++p) {
    if (arguments[p].space == MemorySpace::kHost) continue;
    return InvalidArgument("argument ", p,
                           " lies in a device's memory, and the code is the host's");
  }
  if (!host.HasDevice()) return absl::OkStatus();
  if (host.DeviceStream() != nullptr) {
    return InvalidArgument("the call is for a stream of a device, and the code is the host's");
  }
  const int num_results = static_cast<int>(graph_.outputs.size());
  for (int k = 0; k < num_results; ++k) {
    if (host.ResultSpace(k) == MemorySpace::kHost) continue;
    return InvalidArgument("result ", k,
                           " is to lie in a device's memory, and the code is the host's");
  }
  return absl::OkStatus();
}

absl::Status Executable::Run(absl::Span<const Argument> arguments, CallHost& host) {
  if (arguments.size() != graph_.parameters.size()) {
    return InvalidArgument("expected ", graph_.parameters.size(), " arguments, got ",
                           arguments.size());
  }
  TEKTITE_RETURN_IF_ERROR(CheckSpaces(arguments, host));
  const std::shared_ptr<const WeightState> weights = Weights(arguments, host);
  TEKTITE_ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(arguments, host));
  const std::shared_ptr<const SizedCall> plan = weights->plan->For(sizes);
  if (!plan->status.ok()) return plan->status;
  if (weights->unpacked.empty()) return Call(*this, weights, *plan, arguments, host).Run();
  const int64_t begin = Nanoseconds();
  TEKTITE_RETURN_IF_ERROR(Call(*this, weights, *plan, arguments, host).Run());
  PackLater(weights, arguments, Nanoseconds() - begin);
  return absl::OkStatus();
}

}  // namespace tektite::runtime
