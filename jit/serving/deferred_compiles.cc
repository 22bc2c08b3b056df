#include "jit/serving/deferred_compiles.h"

#include <utility>

namespace tektite::serving {

DeferredCompiles& DeferredCompiles::Get() {
  static DeferredCompiles& all = *new DeferredCompiles;  // clusters may outlive static objects
  return all;
}

bool DeferredCompiles::Add(const void* code, Start start) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (waiting_.size() >= kMost) return false;
  return waiting_.emplace(code, std::move(start)).second;
}

DeferredCompiles::Start DeferredCompiles::Take(const void* code) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = waiting_.find(code);
  if (found == waiting_.end()) return nullptr;
  Start start = std::move(found->second);
  waiting_.erase(found);
  return start;
}

void DeferredCompiles::StartAll() {
  std::map<const void*, Start> all;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    all.swap(waiting_);
  }
  for (auto& [code, start] : all) start();
}

}  // namespace tektite::serving
