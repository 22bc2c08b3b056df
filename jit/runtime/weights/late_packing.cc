#include "jit/runtime/weights/late_packing.h"

#include <algorithm>
#include <new>
#include <utility>

#include "jit/base/timing.h"
#include "jit/runtime/step_graph.h"
#include "jit/runtime/weights/weights.h"

namespace tektite::runtime {

void Deferral::See(const std::vector<uint64_t>& versions, bool is_known, int64_t now) {
  if (is_known == is_known_ && versions == versions_) return;
  // Weights that are seen for the first time have not changed.
  const bool changed = is_known_;
  versions_ = versions;
  is_known_ = is_known;
  is_refused_ = false;
  block_.reset();
  seen_since_ = now;
  if (!changed) return;
  doublings_ = std::min(doublings_ + 1, kMostDoublings);
  wait_ = kQuietCalls << doublings_;
}

bool Deferral::WaitsFor(const std::vector<uint64_t>& versions) const {
  return is_known_ && !is_refused_ && versions == versions_;
}

std::shared_ptr<const WeightBlock> Deferral::Take() { return std::exchange(block_, nullptr); }

void Deferral::Refuse() {
  is_refused_ = true;
  block_.reset();
}

bool PackUntil(int64_t deadline, const StepGraph& graph, int group, const void* weights,
               const std::shared_ptr<MemoryBudget>& budget, Deferral* deferral) {
  const Step& step = graph.steps[graph.groups[group].steps.front()];
  const auto& kernel = static_cast<const backend::HostKernel&>(*step.kernel);
  const backend::LaunchConfig config = kernel.Configure({});
  if (deferral->block_ == nullptr) {
    deferral->next_chunk_ = 0;
    if (config.fits) {
      deferral->block_ =
          WeightBlock::CreateForLater(budget, graph.buffers[step.results[0]].typical_bytes);
    }
  }
  const backend::Block scratch = budget->device().memory().Allocate(config.scratch_bytes);
  if (deferral->block_ == nullptr || scratch.data() == nullptr) {
    deferral->Refuse();
    return false;
  }
  while (deferral->block_->PreparePages()) {
    if (Nanoseconds() >= deadline) return false;
  }
  void* const buffers[] = {const_cast<void*>(weights), deferral->block_->data()};
  try {
    for (int64_t& chunk = deferral->next_chunk_; chunk < config.num_chunks;) {
      kernel.Run({buffers, nullptr, scratch.data()}, chunk, chunk + 1);
      ++chunk;
      if (Nanoseconds() >= deadline) break;
    }
  } catch (const std::bad_alloc&) {
    deferral->Refuse();
    return false;
  }
  return deferral->next_chunk_ == config.num_chunks;
}

int64_t PackingTime::Earn(int64_t nanoseconds) {
  ++calls_;
  // What was not spent is lost: a call never packs for longer than its share, but for a chunk.
  credit_ = std::min<int64_t>(credit_, 0) + nanoseconds / kShare;
  return std::max<int64_t>(credit_, 0);
}

}  // namespace tektite::runtime
