#include "jit/cache/kernel_store.h"

namespace tektite::cache {
namespace {

bool IsSettled(const absl::StatusOr<KernelPtr>& kernel) {
  return kernel.ok() || kernel.status().code() == absl::StatusCode::kUnimplemented;
}

}  // namespace

absl::StatusOr<KernelPtr> KernelStore::GetOrCompile(
    const Fingerprint& key, const std::function<absl::StatusOr<KernelPtr>()>& compile) {
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (entries_.size() >= kMostKernels) DropUnused();
    std::shared_ptr<Entry>& slot = entries_[key];
    if (slot == nullptr) slot = std::make_shared<Entry>();
    entry = slot;
  }
  std::lock_guard<std::mutex> lock(entry->mutex);
  if (IsSettled(entry->kernel)) {
    hits_.fetch_add(1, std::memory_order_relaxed);
    return entry->kernel;
  }
  entry->kernel = compile();
  return entry->kernel;
}

bool KernelStore::Has(const Fingerprint& key) {
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return false;
    entry = found->second;
  }
  // One that is just being compiled is not there yet.
  std::unique_lock<std::mutex> lock(entry->mutex, std::try_to_lock);
  return lock.owns_lock() && IsSettled(entry->kernel);
}

void KernelStore::DropUnused() {
  for (auto it = entries_.begin(); it != entries_.end();) {
    // No other process has the entry, so none holds its lock.
    const bool unused = it->second.use_count() == 1 &&
                        (!it->second->kernel.ok() || it->second->kernel->use_count() == 1);
    if (unused) {
      entries_.erase(it++);
    } else {
      ++it;
    }
  }
}

}  // namespace tektite::cache
