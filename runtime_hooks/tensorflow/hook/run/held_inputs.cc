#include "runtime_hooks/tensorflow/hook/run/held_inputs.h"

#include <algorithm>
#include <utility>

#include "runtime_hooks/tensorflow/hook/run/counters.h"
#include "tensorflow/core/common_runtime/dma_helper.h"
#include "tensorflow/core/framework/resource_mgr.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::DataType;
using tensorflow::OpKernelContext;
using tensorflow::ResourceHandle;
using tensorflow::Tensor;
using tensorflow::Var;

constexpr int64_t kFirstWait = 3;
constexpr int kMostDoublings = 16;
constexpr int64_t kQuietRuns = 64;

bool IsSameContent(const Tensor& held, const Tensor& now) {
  // Without a look at the buffers, which are cold, where they are the same object.
  const bool same = tensorflow::DMAHelper::buffer(&held) == tensorflow::DMAHelper::buffer(&now) ||
                    held.data() == now.data();
  return same && held.dtype() == now.dtype() && held.shape() == now.shape();
}

void Prefetch(const Var* variable) {
  constexpr size_t kLine = 64;
  for (size_t at = 0; at < sizeof(Var); at += kLine) {
    __builtin_prefetch(reinterpret_cast<const char*>(variable) + at);
  }
}

// A default tensor is an empty float one; this one is nothing's value.
Tensor NoTensor() { return Tensor(tensorflow::DT_INVALID); }

}  // namespace

InputReader::Call::~Call() {
  for (const Lock& lock : locked_) {
    lock.is_exclusive ? lock.mu->unlock() : lock.mu->unlock_shared();
  }
}

bool InputReader::Call::IsLocked(int index) const {
  return std::find(unshareable_.begin(), unshareable_.end(), index) != unshareable_.end();
}

const Tensor* InputReader::Call::Shareable(int index) const {
  if (inputs_[index]->dtype() != tensorflow::DT_RESOURCE) return inputs_[index];
  if (IsLocked(index)) return nullptr;
  const bool is_owned = !owned_.empty() && owned_[index].dtype() != tensorflow::DT_INVALID;
  return is_owned ? &owned_[index] : &snapshot_->held[index].tensor;
}

Var* InputReader::Call::UpdatedVariable(int index) const {
  const auto found = std::lower_bound(updated_.begin(), updated_.end(), index,
                                      [](const auto& entry, int i) { return entry.first < i; });
  return found == updated_.end() || found->first != index ? nullptr : found->second;
}

bool InputReader::Call::IsUnchanged(int index, const Tensor& now) const {
  return IsSameContent(owned_[index], now);
}

void InputReader::Call::Release(int index) {
  if (!owned_.empty()) owned_[index] = NoTensor();
}

InputReader::InputReader(std::vector<DataType> input_types, std::vector<DataType> variable_types,
                         const std::vector<int>& constant_inputs,
                         const std::vector<int>& updated_inputs, std::vector<int32_t> spaces)
    : variable_types_(std::move(variable_types)),
      spaces_(std::move(spaces)),
      kinds_(input_types.size(), Kind::kTensor) {
  for (size_t i = 0; i < input_types.size(); ++i) {
    if (input_types[i] == tensorflow::DT_RESOURCE) kinds_[i] = Kind::kVariable;
  }
  for (const int index : constant_inputs) kinds_[index] = Kind::kConstant;
  for (const int index : updated_inputs) kinds_[index] = Kind::kUpdated;
  for (const Kind kind : kinds_) has_held_inputs_ |= kind != Kind::kTensor;
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->held.resize(kinds_.size());
  snapshot_ = std::move(snapshot);
  history_.resize(kinds_.size());
}

// Null when there is no such variable.  The call keeps it alive where the handle does not.
Var* InputReader::FindVariable(OpKernelContext* context, int index, Call* call,
                               bool* found_by_name) {
  const Tensor& input = *call->inputs_[index];
  if (input.NumElements() != 1) return nullptr;
  const ResourceHandle& handle = *static_cast<const ResourceHandle*>(input.data());
  if (handle.IsRefCounting()) {
    const absl::StatusOr<Var*> variable = handle.GetResource<Var>();
    return variable.ok() ? *variable : nullptr;
  }
  const Held& held = call->snapshot_->held[index];
  tensorflow::core::RefCountPtr<Var> variable;
  // We keep the handle's tensor, so the same buffer is the same handle; the variable it named may
  // have been destroyed since, which the weak pointer knows.
  if (held.variable != nullptr && held.handle.data() == input.data()) {
    variable = held.variable->GetNewRef();
  }
  if (variable == nullptr) {
    if (!tensorflow::LookupResource(context, handle, &variable).ok()) return nullptr;
    *found_by_name = true;
  }
  Var* const found = variable.get();
  call->variables_.push_back(std::move(variable));
  return found;
}

void InputReader::LockUnshareable(const VariableList& sparse, Call* call) {
  for (const auto& [index, variable] : sparse) {
    call->unshareable_.push_back(index);
    call->locked_.push_back({variable->mu(), kinds_[index] == Kind::kUpdated});
  }
  // TensorFlow locks several variables in this order too; a mutex is never taken twice.  One that
  // is updated is that of no other input.
  std::sort(call->locked_.begin(), call->locked_.end(),
            [](const Call::Lock& a, const Call::Lock& b) { return a.mu < b.mu; });
  const auto end =
      std::unique(call->locked_.begin(), call->locked_.end(),
                  [](const Call::Lock& a, const Call::Lock& b) { return a.mu == b.mu; });
  call->locked_.erase(end, call->locked_.end());
  for (const Call::Lock& lock : call->locked_) {
    lock.is_exclusive ? lock.mu->lock() : lock.mu->lock_shared();
  }
}

// Of all inputs first, so that cold cache lines are fetched side by side: a lock keeps the
// processor from looking ahead.
Reason InputReader::FindVariables(OpKernelContext* context, absl::Span<Var* const> known,
                                  Call* call, VariableList* variables, VariableList* named) {
  const int n = static_cast<int>(kinds_.size());
  variables->reserve(n);
  for (int i = 0; i < n; ++i) {
    if (!IsVariable(i)) continue;
    bool found_by_name = false;
    Var* const variable = !known.empty() && known[i] != nullptr
                              ? known[i]
                              : FindVariable(context, i, call, &found_by_name);
    if (variable == nullptr) return Reason::HOST_VARIABLE_MISSING;
    Prefetch(variable);
    variables->emplace_back(i, variable);
    if (kinds_[i] == Kind::kUpdated) call->updated_.emplace_back(i, variable);
    if (found_by_name) named->emplace_back(i, variable);
  }
  return HasAliases(*variables, *call) ? Reason::HOST_VARIABLE_ALIASED : Reason::NONE;
}

bool InputReader::HasAliases(const VariableList& variables, const Call& call) {
  if (call.updated_.empty()) return false;
  std::vector<std::pair<const Var*, bool>> all;  // with: is it updated
  all.reserve(variables.size());
  for (const auto& [index, variable] : variables) {
    all.emplace_back(variable, call.UpdatedVariable(index) != nullptr);
  }
  std::sort(all.begin(), all.end());
  return std::adjacent_find(all.begin(), all.end(), [](const auto& a, const auto& b) {
           return a.first == b.first && b.second;
         }) != all.end();
}

Reason InputReader::Read(OpKernelContext* context, Inputs inputs, absl::Span<Var* const> known,
                         Call* call) {
  const int n = static_cast<int>(kinds_.size());
  call->inputs_ = inputs;
  call->args.resize(n);
  std::vector<int> changed;
  VariableList variables, named, sparse;
  if (has_held_inputs_) {
    runs_.fetch_add(1, std::memory_order_relaxed);
    {
      tensorflow::tf_shared_lock lock(mu_);
      call->snapshot_ = snapshot_;
    }
    const Reason missing = FindVariables(context, known, call, &variables, &named);
    if (missing != Reason::NONE) return missing;
  }

  Tensors tensors(n);
  for (int i = 0; i < n; ++i) {
    if (IsVariable(i)) continue;
    tensors[i] = inputs[i];
    call->args[i].version = 0;
    if (kinds_[i] == Kind::kTensor) continue;
    const Held& held = call->snapshot_->held[i];
    if (held.version != 0 && IsSameContent(held.tensor, *tensors[i])) {
      tensors[i] = nullptr;
      call->args[i] = held.arg;
    } else {
      changed.push_back(i);
    }
  }
  for (const auto& [i, variable] : variables) {
    const Held& held = call->snapshot_->held[i];
    call->args[i].version = 0;
    tensorflow::tf_shared_lock lock(*variable->mu());
    if (variable->copy_on_read_mode.load()) {  // under the lock: the mode is changed under it
      if (kinds_[i] == Kind::kUpdated && !spaces_.empty()) {
        return Reason::HOST_VARIABLE_SPARSE;
      }
      sparse.emplace_back(i, variable);
      if (held.version != 0) changed.push_back(i);
      continue;
    }
    if (!variable->is_initialized) return Reason::HOST_VARIABLE_UNINITIALIZED;
    const Tensor& now = *variable->tensor();
    const DataType wanted = variable_types_[i];
    if (wanted != tensorflow::DT_RESOURCE && now.dtype() != wanted)
      return Reason::HOST_VARIABLE_TYPE;
    if (held.version != 0 && IsSameContent(held.tensor, now)) {
      call->args[i] = held.arg;
      continue;
    }
    if (call->owned_.empty()) call->owned_.resize(n, NoTensor());
    call->owned_[i] = now;
    tensors[i] = &call->owned_[i];
    if (kinds_[i] == Kind::kVariable) changed.push_back(i);
  }
  if (!sparse.empty()) {
    LockUnshareable(sparse, call);
    for (const auto& [index, variable] : sparse) {
      if (!variable->is_initialized) return Reason::HOST_VARIABLE_UNINITIALIZED;
      const DataType wanted = variable_types_[index];
      if (wanted != tensorflow::DT_RESOURCE && variable->tensor()->dtype() != wanted) {
        return Reason::HOST_VARIABLE_TYPE;
      }
      tensors[index] = variable->tensor();
    }
  }
  if (!changed.empty() || !named.empty()) Update(changed, named, call);
  Describe(tensors, call);
  return Reason::NONE;
}

int32_t InputReader::SpaceOf(int index, const Tensor& tensor) const {
  if (spaces_.empty()) return TEKTITE_HOST;
  // A variable of a type that has no kernels there may be the host's.
  if (IsVariable(index) && tensorflow::DMAHelper::buffer(&tensor) != nullptr) {
    const auto memory = tensor.GetMemoryType();
    if (memory == tensorflow::AllocatorMemoryType::kHostPageable ||
        memory == tensorflow::AllocatorMemoryType::kHostPinned) {
      return TEKTITE_HOST;
    }
  }
  return spaces_[index];
}

void InputReader::Describe(const Tensors& tensors, Call* call) const {
  size_t total_rank = 0;
  for (const Tensor* tensor : tensors) total_rank += tensor == nullptr ? 0 : tensor->dims();
  call->dims_.resize(total_rank);
  int64_t* dims = call->dims_.data();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i] == nullptr) continue;
    tektite_tensor& arg = call->args[i];
    const tensorflow::TensorShape& shape = tensors[i]->shape();
    arg.data = tensors[i]->data();
    arg.dims = dims;
    arg.rank = shape.dims();
    arg.dtype = tensors[i]->dtype();
    arg.space = SpaceOf(static_cast<int>(i), *tensors[i]);
    for (int d = 0; d < arg.rank; ++d) *dims++ = shape.dim_size(d);
  }
}

// Decides which of the `changed` inputs are taken hold of, and publishes a new snapshot if anything
// moved.
void InputReader::Update(const std::vector<int>& changed, const VariableList& named, Call* call) {
  tensorflow::mutex_lock lock(mu_);
  std::shared_ptr<Snapshot> next;
  const auto edit = [&](int index) -> Held& {
    if (next == nullptr) next = std::make_shared<Snapshot>(*snapshot_);
    return next->held[index];
  };
  const int64_t run = runs_.load(std::memory_order_relaxed);
  for (const int i : changed) {
    const bool is_constant = kinds_[i] == Kind::kConstant;
    const Tensor now = is_constant            ? *call->inputs_[i]
                       : call->owned_.empty() ? NoTensor()  // copy_on_read_mode now
                                              : call->owned_[i];
    const Held& held = snapshot_->held[i];
    History& history = history_[i];
    if (held.version != 0 && IsSameContent(held.tensor, now)) {  // another thread was here
      call->args[i].version = held.version;
      continue;
    }
    if (held.version != 0) {
      if (run - history.held_since > kQuietRuns) history.changes = 0;
      history.runs_to_wait = kFirstWait << std::min(history.changes, kMostDoublings);
      ++history.changes;
      history.runs_seen = 0;
      history.last_buffer = now.data();
      Held& released = edit(i);
      released.tensor = NoTensor();
      released.version = 0;
      HookCounters().releases.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    if (now.dtype() == tensorflow::DT_INVALID) continue;
    if (history.last_buffer != now.data()) history.runs_seen = 0;
    history.last_buffer = now.data();
    if (history.runs_seen++ < history.runs_to_wait) continue;
    Held& taken = edit(i);
    taken.tensor = now;
    taken.version = next_version_++;
    const auto sizes = now.shape().dim_sizes();
    taken.dims.assign(sizes.begin(), sizes.end());
    taken.arg.data = now.data();
    taken.arg.rank = now.dims();
    taken.arg.dtype = now.dtype();
    taken.arg.version = taken.version;
    taken.arg.space = SpaceOf(i, now);
    history.held_since = run;
    call->args[i].version = taken.version;
    HookCounters().holds.fetch_add(1, std::memory_order_relaxed);
  }
  for (const auto& [i, variable] : named) {
    Held& entry = edit(i);
    entry.handle = *call->inputs_[i];
    entry.variable = std::make_shared<const tensorflow::core::WeakPtr<Var>>(variable);
  }
  if (next == nullptr) return;
  for (Held& held : next->held) held.arg.dims = held.dims.data();  // of this copy
  snapshot_ = std::move(next);
}

}  // namespace tektite::tf_hook
