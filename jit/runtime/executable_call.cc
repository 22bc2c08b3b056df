#include "jit/runtime/executable_call.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "jit/base/status.h"

namespace tektite::runtime {
namespace {

using Kind = OutputSource::Kind;

void* Pointer(uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

Executable::Call::Call(const Executable& executable,
                       const std::shared_ptr<const WeightState>& weights, const SizedCall& plan,
                       absl::Span<const Argument> arguments, CallHost& host)
    : e_(executable),
      buffers_(weights->plan->buffers()),
      plan_(plan),
      weights_(weights),
      arguments_(arguments),
      host_(host),
      host_stream_(executable.is_host_ ? nullptr : host.DeviceStream()),
      num_results_(num_outputs() - static_cast<int>(buffers_.updates.size())),
      weight_(executable.WeightOfCall()),
      pool_(executable.PoolOf(host)),
      bases_(plan.launch.num_bases()),
      pointers_(plan.launch.num_slots()),
      arena_bytes_(plan.memory_bytes - plan.last_begin) {}

absl::Status Executable::Call::Run() {
  if (!e_.is_host_) PlaceStaging();
  const absl::StatusOr<Arena> arena = AcquireArena();
  if (!arena.ok()) return arena.status();
  arena_ = arena->back().data();
  SetBases();
  for (size_t i = 0; i < plan_.blocks.size(); ++i) {
    bases_[plan_.launch.first_block() + i] = Address((*arena)[i].data());
  }
  TEKTITE_RETURN_IF_ERROR(AllocateResults());

  const int before_updates = buffers_.num_before_updates, all = plan_.launch.num_steps();
  const bool updates = !buffers_.updates.empty();
  const bool by_values = std::any_of(
      buffers_.outputs.begin(), buffers_.outputs.end(),
      [](const OutputSource& o) { return o.kind == Kind::kCheck || o.kind == Kind::kRows; });
  const auto is_cancelled = [this] { return host_.IsCancelled(); };
  TEKTITE_RETURN_IF_ERROR(e_.device_->WithStream(
      OptionsFor(0, before_updates, is_cancelled), [&](backend::Stream& stream) {
        KeepFor(stream);
        CopyIn(stream);
        TEKTITE_RETURN_IF_ERROR(Launch(stream, 0, before_updates));
        if (!updates && !by_values) CopyOut(stream);
        // What is kept for later calls may be read on other streams.
        return staged_arguments_.HasNew() ? stream.Synchronize() : stream.End();
      }));
  staged_arguments_.Publish(e_.options_.weights->resident());
  if (by_values) {
    backend::StreamOptions options;
    options.host_stream = host_stream_;
    TEKTITE_RETURN_IF_ERROR(e_.device_->WithStream(options, [&](backend::Stream& stream) {
      KeepFor(stream);
      TEKTITE_RETURN_IF_ERROR(FinishByValues(stream));
      if (!updates) CopyOut(stream);
      return stream.End();
    }));
  }
  if (!updates) return absl::OkStatus();
  TEKTITE_RETURN_IF_ERROR(BeginUpdates());
  return e_.device_->WithStream(OptionsFor(before_updates, all, backend::NeverCancelled),
                                [&](backend::Stream& stream) {
                                  KeepFor(stream);
                                  TEKTITE_RETURN_IF_ERROR(Launch(stream, before_updates, all));
                                  CopyOut(stream);
                                  return stream.End();
                                });
}

absl::StatusOr<Executable::Call::Arena> Executable::Call::AcquireArena() const {
  Arena arena;
  arena.reserve(plan_.blocks.size() + 1);
  for (size_t i = 0; i <= plan_.blocks.size(); ++i) {
    const int64_t bytes = i < plan_.blocks.size() ? plan_.blocks[i] : arena_bytes_;
    arena.push_back(e_.options_.arenas->Acquire(bytes, host_stream_));
    if (arena.back().data() != nullptr) continue;
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for an arena of ", plan_.last_begin + arena_bytes_, " bytes"));
  }
  return arena;
}

MemorySpace Executable::Call::SpaceOfResult(int k) const {
  if (k >= num_results_) return arguments_[buffers_.updates[k - num_results_].parameter].space;
  return e_.is_host_ ? MemorySpace::kHost : host_.ResultSpace(k);
}

int64_t Executable::Call::Stage(int64_t bytes) {
  const int64_t offset = arena_bytes_;
  arena_bytes_ += AlignUp(bytes);
  return offset;
}

void Executable::Call::PlaceStaging() {
  staged_sizes_ = Stage(static_cast<int64_t>(plan_.size_values.size() * sizeof(int64_t)));
  for (size_t p = 0; p < arguments_.size(); ++p) {
    const int parameter = static_cast<int>(p);
    if (!StagedArguments::MustStage(arguments_[p]) ||
        !plan_.launch.Reads(Slot::kFirstParameter + parameter)) {
      continue;
    }
    if (arguments_[p].space != MemorySpace::kHost ||
        !staged_arguments_.Keep(parameter, arguments_[p].version, plan_.parameter_bytes[p],
                                e_.options_.weights->resident())) {
      staged_arguments_.Add(parameter, plan_.parameter_bytes[p], &arena_bytes_);
    }
  }
  memory_.resize(num_outputs());
  for (int k = 0; k < num_outputs(); ++k) {
    const bool staged = output(k).kind == Kind::kDirect && SpaceOfResult(k) == MemorySpace::kHost;
    staged_outputs_.push_back(staged ? Stage(plan_.output_bytes[k]) : kUnstaged);
  }
}

void Executable::Call::SetBases() {
  bases_[Slot::kArena] = Address(arena_);
  bases_[Slot::kAbsolute] = 0;
  bases_[Slot::kSizeValues] =
      Address(staged_sizes_ == kUnstaged ? static_cast<const void*>(plan_.size_values.data())
                                         : arena_ + staged_sizes_);
  for (size_t p = 0; p < arguments_.size(); ++p) {
    bases_[Slot::kFirstParameter + p] = Address(arguments_[p].data);
  }
  staged_arguments_.SetBases(arena_, bases_.data());
  std::fill(results(), results() + num_outputs(), 0);
  for (size_t g = 0; g < weights_->blocks.size(); ++g) {
    const WeightBlock* block = weights_->blocks[g].get();
    uintptr_t& base = bases_[plan_.launch.first_group() + g];
    base = block == nullptr ? 0 : Address(block->data());
    if (block == nullptr && e_.graph_.groups[g].deferred) {
      base = Address(e_.OperandOfDeferred(static_cast<int>(g), arguments_));
    }
  }
}

void Executable::Call::SetResult(int k, void* memory) {
  if (IsStaged(k)) {
    memory_[k] = memory;
    results()[k] = Address(arena_ + staged_outputs_[k]);
  } else {
    results()[k] = Address(memory);
  }
}

absl::Status Executable::Call::AllocateResults() {
  for (int k = 0; k < num_results_; ++k) {
    const bool forward = output(k).kind == Kind::kForward;
    if (output(k).kind != Kind::kDirect && !forward && output(k).kind != Kind::kCopy) continue;
    if (forward && host_.Forward(k, output(k).from)) continue;
    void* const memory = host_.Allocate(k, plan_.results[k]);
    if (memory == nullptr && plan_.output_bytes[k] != 0) {
      TEKTITE_RETURN_IF_ERROR(e_.device_->status());  // what is lost has no memory, either
      return absl::ResourceExhaustedError(absl::StrCat("no memory for result ", k));
    }
    SetResult(k, memory);
  }
  return absl::OkStatus();
}

absl::Status Executable::Call::BeginUpdates() {
  absl::InlinedVector<CallHost::Update, 16> updates;
  for (const UpdatePlace& update : buffers_.updates) {
    updates.push_back({update.parameter, update.in_place, nullptr});
  }
  if (!host_.BeginUpdates(absl::MakeSpan(updates))) {
    return absl::FailedPreconditionError("the host does not allow updates");
  }
  for (size_t i = 0; i < updates.size(); ++i) {
    SetResult(buffers_.updates[i].output, updates[i].memory);
  }
  return absl::OkStatus();
}

backend::StreamOptions Executable::Call::OptionsFor(int begin, int end,
                                                    absl::FunctionRef<bool()> is_cancelled) const {
  return {pool_,
          plan_.launch.CostNs(begin, end),
          plan_.launch.scratch_bytes(),
          arena_ + (plan_.arena_bytes - plan_.last_begin),
          weight_ > 0 ? e_.call_times_.get() : nullptr,
          plan_.launch.has_loops(),
          is_cancelled,
          host_stream_};
}

void Executable::Call::KeepFor(backend::Stream& stream) const {
  if (host_stream_ == nullptr) return;
  stream.Keep(e_.on_device_);
  stream.Keep(weights_);
  staged_arguments_.KeepFor(stream);
}

absl::Status Executable::Call::Launch(backend::Stream& stream, int begin, int end) {
  Watch watch(e_, host_, weight_);
  return plan_.launch.Run(begin, end, bases_.data(), pointers_.data(), stream, pool_,
                          watch.IfAsked());
}

void Executable::Watch::Begins(int step) {
  if (host_.TracesSteps()) host_.TraceStep(e_.graph_.names[step].c_str());
}

void Executable::Watch::Ran(int step, int64_t began, int64_t took) {
  if (host_.TracesSteps()) host_.TraceStep(nullptr);
  if (weight_ > 0) e_.step_times_[step].Add(began, took, weight_);
}

void Executable::Call::CopyIn(backend::Stream& stream) const {
  if (staged_sizes_ == kUnstaged) return;  // the host's device
  stream.CopyFromHost(arena_ + staged_sizes_, plan_.size_values.data(),
                      static_cast<int64_t>(plan_.size_values.size() * sizeof(int64_t)));
  staged_arguments_.CopyIn(stream, arena_, arguments_);
}

absl::Status Executable::Call::FinishByValues(backend::Stream& stream) {
  struct Value {
    int64_t rows = 0;
    bool holds = true;
  };
  absl::FixedArray<Value, kOnStack / 4> values(num_outputs());
  for (int k = 0; k < num_outputs(); ++k) {
    if (output(k).kind == Kind::kCheck) {
      stream.CopyToHost(&values[k].holds, plan_.OutputAddress(k, bases_.data()), sizeof(bool));
    } else if (output(k).kind == Kind::kRows) {
      stream.CopyToHost(&values[k].rows, plan_.OutputAddress(output(k).from, bases_.data()),
                        sizeof(int64_t));
    }
  }
  TEKTITE_RETURN_IF_ERROR(stream.Synchronize());
  for (const Value& value : values) {
    if (!value.holds) return absl::FailedPreconditionError("a check of the values failed");
  }
  for (int k = 0; k < num_outputs(); ++k) {
    if (output(k).kind != Kind::kRows) continue;
    TensorType type = plan_.results[k];
    const int64_t most = type.dims[0], rows = values[k].rows;
    if (rows < 0 || rows > most) return Internal("result ", k, " has ", rows, " rows of ", most);
    type.dims[0] = rows;
    const int64_t bytes = most == 0 ? 0 : plan_.output_bytes[k] / most * rows;
    void* const to = host_.Allocate(k, type);
    if (bytes == 0) continue;
    if (to == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat("no memory for result ", k));
    }
    Copy(stream, to, SpaceOfResult(k), plan_.OutputAddress(k, bases_.data()),
         e_.device_->memory().space(), bytes);
  }
  return absl::OkStatus();
}

void Executable::Call::CopyOut(backend::Stream& stream) const {
  const MemorySpace space = e_.device_->memory().space();
  for (int k = 0; k < num_outputs(); ++k) {
    const uintptr_t to = bases_[plan_.launch.first_result() + k];
    if (to == 0 || plan_.output_bytes[k] == 0) continue;
    if (IsStaged(k)) {
      stream.CopyToHost(memory_[k], Pointer(to), plan_.output_bytes[k]);
    } else if (output(k).kind == Kind::kCopy || output(k).kind == Kind::kForward) {
      // An argument that no kernel reads was not copied.
      const int p = plan_.output_slots[k].base - Slot::kFirstParameter;
      const bool is_argument = p >= 0 && p < static_cast<int>(arguments_.size());
      const bool there = e_.is_host_ || !is_argument || staged_arguments_.Has(p);
      Copy(stream, Pointer(to), SpaceOfResult(k), plan_.OutputAddress(k, bases_.data()),
           there ? space : arguments_[p].space, plan_.output_bytes[k]);
    }
  }
}

void Executable::Call::Copy(backend::Stream& stream, void* to, MemorySpace to_space,
                            const void* from, MemorySpace from_space, int64_t bytes) const {
  if (e_.is_host_) {
    stream.CopyWithin(to, from, bytes);
  } else if (to_space == MemorySpace::kHost && from_space == MemorySpace::kHost) {
    std::memcpy(to, from, bytes);
  } else if (to_space == MemorySpace::kHost) {
    stream.CopyToHost(to, from, bytes);
  } else if (from_space == MemorySpace::kHost) {
    stream.CopyFromHost(to, from, bytes);
  } else {
    stream.CopyWithin(to, from, bytes);
  }
}

}  // namespace tektite::runtime
