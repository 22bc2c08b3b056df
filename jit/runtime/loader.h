// Makes executables of step graphs, and holds what those of one device share: its memory for calls,
// and the bound of what is kept of weights.
//
//   Loader loader(std::make_shared<HostDevice>(), /*most_weight_bytes=*/1 << 30);
//   std::shared_ptr<Executable> executable = loader.Load(std::move(steps), {});
//
// Thread-safe.
#ifndef TEKTITE_JIT_RUNTIME_LOADER_H_
#define TEKTITE_JIT_RUNTIME_LOADER_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "jit/runtime/executable.h"
#include "jit/runtime/memory/arena_pool.h"
#include "jit/runtime/weights/weights.h"

namespace tektite::runtime {

class Loader {
 public:
  struct Options {
    OutputRoles roles;
    std::shared_ptr<WeightStore> weights;  // null: one of its own
    bool profile = false;                  // as Executable::Options::profile
  };

  Loader(std::shared_ptr<backend::Device> device, int64_t most_weight_bytes)
      : weight_budget_(std::make_shared<MemoryBudget>(most_weight_bytes, device)),
        arenas_(std::make_shared<ArenaPool>(std::move(device))) {}
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The steps' kernels are set.
  std::shared_ptr<Executable> Load(StepGraph steps, Options options) const;
  // A store for the weights of one cluster.
  std::shared_ptr<WeightStore> NewWeightStore() const {
    return std::make_shared<WeightStore>(weight_budget_);
  }
  // For a moment at which something else needs as much memory as calls of compiled code do.
  void ReleaseLargeArenas() { arenas_->ReleaseLargeIdle(); }
  // Until the host's stream of the device has run all that it was told.
  void WaitForStream(void* host_stream);

  int64_t weight_bytes() const { return weight_budget_->used(); }
  int64_t arena_bytes() const { return arenas_->held_bytes(); }

 private:
  const std::shared_ptr<MemoryBudget> weight_budget_;
  const std::shared_ptr<ArenaPool> arenas_;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_LOADER_H_
