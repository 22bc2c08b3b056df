#include "jit/runtime/sized_calls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/base/saturating.h"
#include "jit/runtime/memory/host_memory.h"

namespace tektite::runtime {

SizedCalls::SizedCalls(const StepGraph& graph, const Residence& residence, BufferAssignment buffers)
    : graph_(graph),
      residence_(residence),
      buffers_(std::move(buffers)),
      launch_(graph, residence, buffers_.steps, buffers_.rounds, buffers_.locations) {
  if (graph.sources.empty()) only_ = Make({}, std::exchange(launch_, {}));
}

std::shared_ptr<const SizedCall> SizedCalls::For(absl::Span<const int64_t> sizes) const {
  if (only_ != nullptr) return only_;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (latest_ != nullptr && sizes == absl::MakeConstSpan(latest_->sizes)) return latest_;
    const auto it = known_.find(std::vector<int64_t>(sizes.begin(), sizes.end()));
    if (it != known_.end()) {
      it->second.last_use = ++clock_;
      return latest_ = it->second.plan;
    }
  }
  std::shared_ptr<const SizedCall> plan = Make(sizes, launch_);
  std::shared_ptr<const SizedCall> oldest;  // freed after the lock is
  std::lock_guard<std::mutex> lock(mutex_);
  if (known_.size() >= kMostSized) {
    auto least = known_.begin();
    for (auto it = known_.begin(); it != known_.end(); ++it) {
      if (it->second.last_use < least->second.last_use) least = it;
    }
    oldest = std::move(least->second.plan);
    known_.erase(least);
  }
  known_[plan->sizes] = {plan, ++clock_};
  return latest_ = plan;
}

std::shared_ptr<const SizedCall> SizedCalls::Make(absl::Span<const int64_t> sizes,
                                                  Launch launch) const {
  auto plan = std::make_shared<SizedCall>();
  plan->sizes.assign(sizes.begin(), sizes.end());
  plan->status = Fill(sizes, std::move(launch), plan.get());
  return plan;
}

absl::Status SizedCalls::Fill(absl::Span<const int64_t> sizes, Launch launch,
                              SizedCall* plan) const {
  std::vector<int64_t> table(graph_.program.table_size());
  if (!graph_.program.Run(sizes.data(), table.data())) {
    return absl::ResourceExhaustedError("sizes that 64 bits do not count");
  }
  if (const SizeCheck* failed = FirstFailed(graph_.checks, table)) {
    return absl::OutOfRangeError(absl::StrCat("the code needs ", failed->text, ", here ",
                                              table[failed->low], " and ", table[failed->high]));
  }
  for (const std::vector<int>& places : graph_.size_values) {
    for (int place : places) plan->size_values.push_back(table[place]);
    plan->size_values.resize(AlignUp(plan->size_values.size() * sizeof(int64_t)) / sizeof(int64_t));
  }

  const std::optional<std::vector<int64_t>> bytes = SlotBytes(graph_, buffers_, table);
  if (!bytes) return absl::ResourceExhaustedError("a buffer larger than memory can be");
  ArenaLayout layout = sizes.empty() ? buffers_.arena.layout() : buffers_.arena.Place(*bytes);
  const bool is_host = residence_.memory->space() == backend::MemorySpace::kHost;
  if (is_host) buffers_.arena.CutIntoBlocks(*bytes, &layout);
  if (!launch.Place(sizes, layout, table)) {
    return absl::ResourceExhaustedError("sizes that a kernel cannot count in");
  }
  plan->launch = std::move(launch);
  int64_t results_bytes = 0;
  for (const GraphOutput& output : graph_.outputs) {
    TensorType type{output.shape.dtype(), {}};
    for (int place : output.dims) type.dims.push_back(table[place]);
    plan->results.push_back(std::move(type));
    plan->output_slots.push_back(plan->launch.SlotOf(buffers_.locations[output.buffer], layout));
    plan->output_bytes.push_back(table[graph_.buffers[output.buffer].place]);
    results_bytes = SaturatingAdd(results_bytes, plan->output_bytes.back());
  }
  plan->arena_bytes = layout.bytes;
  plan->memory_bytes = layout.bytes + plan->launch.scratch_bytes();
  for (size_t i = 1; i < layout.blocks.size(); ++i) {
    plan->blocks.push_back(layout.blocks[i] - layout.blocks[i - 1]);
    plan->last_begin = layout.blocks[i];
  }
  if (!is_host) {
    plan->parameter_bytes.resize(graph_.parameters.size());
    for (const Buffer& buffer : graph_.buffers) {
      if (buffer.kind == Buffer::Kind::kParameter) {
        plan->parameter_bytes[buffer.index] = table[buffer.place];
      }
    }
  }
  // TensorFlow would fail at the first tensor that it cannot allocate, within microseconds.
  const int64_t needed = SaturatingAdd(plan->memory_bytes, results_bytes);
  if (needed > residence_.memory->limit()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a call needs ", needed, " bytes, there are ", residence_.memory->limit()));
  }
  return absl::OkStatus();
}

}  // namespace tektite::runtime
