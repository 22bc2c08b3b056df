#include "jit/runtime/weights/resident_arguments.h"

#include "jit/runtime/weights/weights.h"

namespace tektite::runtime {

ResidentArguments::Use ResidentArguments::For(int parameter, uint64_t version, int64_t bytes) {
  std::shared_ptr<const WeightBlock> old;  // freed after the lock is
  std::unique_lock<std::mutex> lock(mutex_);
  Known& known = known_[parameter];
  if (known.version != version) {
    known.version = version;
    old = std::move(known.block);
    known.block = nullptr;
    return {};
  }
  if (known.block != nullptr) return {known.block, false};
  lock.unlock();
  if (bytes <= 0) return {};
  return {WeightBlock::Create(budget_, bytes), true};
}

void ResidentArguments::Publish(int parameter, uint64_t version,
                                std::shared_ptr<const WeightBlock> block) {
  std::lock_guard<std::mutex> lock(mutex_);
  Known& known = known_[parameter];
  // Another call may have brought another version, or have been first.
  if (known.version == version && known.block == nullptr) known.block = std::move(block);
}

}  // namespace tektite::runtime
