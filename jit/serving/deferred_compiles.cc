#include "jit/serving/deferred_compiles.h"

#include <utility>
#include <vector>

namespace tektite::serving {

DeferredCompiles& DeferredCompiles::Get() {
  static DeferredCompiles& all = *new DeferredCompiles;  // clusters may outlive static objects
  return all;
}

bool DeferredCompiles::Add(const void* code, std::weak_ptr<const void> owner, Start start) {
  std::vector<Waiting> gone;  // destroyed without the lock
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = waiting_.begin(); waiting_.size() >= kMost && it != waiting_.end();) {
    if (!it->second.owner.expired()) {
      ++it;
      continue;
    }
    gone.push_back(std::move(it->second));
    it = waiting_.erase(it);
  }
  if (waiting_.size() >= kMost) return false;
  return waiting_.emplace(code, Waiting{std::move(owner), std::move(start)}).second;
}

DeferredCompiles::Start DeferredCompiles::Take(const void* code) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = waiting_.find(code);
  if (found == waiting_.end()) return nullptr;
  Start start = std::move(found->second.start);
  waiting_.erase(found);
  return start;
}

void DeferredCompiles::StartAll() {
  std::map<const void*, Waiting> all;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    all.swap(waiting_);
  }
  for (auto& [code, waiting] : all) waiting.start();
}

}  // namespace tektite::serving
