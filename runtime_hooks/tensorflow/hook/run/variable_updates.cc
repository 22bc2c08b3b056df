#include "runtime_hooks/tensorflow/hook/run/variable_updates.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime_hooks/tensorflow/hook/run/counters.h"

namespace tektite::tf_hook {
namespace {

using tensorflow::Tensor;
using tensorflow::Var;

// The alignment that the compiler's code expects of memory it writes.
constexpr uintptr_t kAlignment = 64;

bool IsAligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data()) % kAlignment == 0;
}

}  // namespace

bool VariableUpdates::Lock() {
  std::vector<tensorflow::mutex*> order;
  order.reserve(updates_.size());
  for (const Update& update : updates_) {
    if (!inputs_.IsLocked(update.input)) order.push_back(update.variable->mu());
  }
  std::sort(order.begin(), order.end());
  for (tensorflow::mutex* mu : order) {
    // A call that holds locks of other variables already must not wait for these, out of order.
    if (!inputs_.HoldsLocks()) {
      mu->lock();
    } else if (!mu->try_lock()) {
      return false;
    }
    locked_.push_back(mu);
  }
  return true;
}

void VariableUpdates::Unlock() {
  for (tensorflow::mutex* mu : locked_) mu->unlock();
  locked_.clear();
}

bool VariableUpdates::Begin(absl::Span<tektite_update> asked, bool keeps_old) {
  updates_.resize(asked.size());
  for (size_t i = 0; i < asked.size(); ++i) {
    updates_[i].input = asked[i].arg;
    updates_[i].variable = inputs_.UpdatedVariable(asked[i].arg);
    if (updates_[i].variable == nullptr) return false;
  }
  if (!Lock()) return false;
  for (const Update& update : updates_) {
    if (inputs_.IsLocked(update.input)) continue;
    Var& variable = *update.variable;
    if (variable.copy_on_read_mode.load() || !variable.is_initialized ||
        !inputs_.IsUnchanged(update.input, *variable.tensor())) {
      return false;
    }
  }
  for (size_t i = 0; i < asked.size(); ++i) {
    Update& update = updates_[i];
    const Tensor& old = *update.variable->tensor();
    inputs_.Release(update.input);
    if (!keeps_old && asked[i].in_place != 0 && old.RefCountIsOne() && IsAligned(old)) {
      asked[i].memory = old.data();
      continue;
    }
    if (!context_.allocate_temp(old.dtype(), old.shape(), &update.fresh).ok()) return false;
    update.is_fresh = true;
    asked[i].memory = update.fresh.data();
  }
  return true;
}

void VariableUpdates::Commit() {
  int64_t copied = 0;
  for (Update& update : updates_) {
    if (!update.is_fresh) continue;
    *update.variable->tensor() = std::move(update.fresh);
    ++copied;
  }
  Unlock();
  HookCounters().updates.fetch_add(static_cast<int64_t>(updates_.size()),
                                   std::memory_order_relaxed);
  HookCounters().copied_updates.fetch_add(copied, std::memory_order_relaxed);
}

}  // namespace tektite::tf_hook
