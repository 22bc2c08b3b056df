// The plan of an executable's call: computed for a set of sizes and remembered.
//
//   SizedCalls plan(graph, residence, AssignBuffers(graph, kept, roles));
//   std::shared_ptr<const SizedCall> sized = plan.For({8, 128});   // values of the symbols
//   if (!sized->status.ok()) ...                                   // a size check failed
//   sized->launch.Run(0, sized->launch.num_steps(), bases, pointers, stream, times);
//
// A plan for sizes that were not seen lately takes a few microseconds (3 for 120 kernels): the size
// program, a place in the arena for every buffer, a launch configuration for every kernel.  The last
// kMostSized are kept, some 20 KiB each for a model of that size, so that no number of shapes makes
// a process grow.  A graph without symbols has one plan.
#ifndef TEKTITE_JIT_RUNTIME_SIZED_CALLS_H_
#define TEKTITE_JIT_RUNTIME_SIZED_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jit/runtime/launch.h"
#include "jit/runtime/memory/buffer_assignment.h"
#include "jit/runtime/step_graph.h"

namespace tektite::runtime {

// A call on given sizes.
struct SizedCall {
  // OutOfRange: there is no code for these sizes, and why.  ResourceExhausted: they need more
  // memory than there is, or more than 64 bits to count.
  absl::Status status;
  std::vector<int64_t> sizes;
  std::vector<int64_t> size_values;  // each vector of them begins at a multiple of kAlignment
  Launch launch;
  std::vector<TensorType> results;
  std::vector<Slot> output_slots;  // where outputs that are copied or checked lie
  std::vector<int64_t> output_bytes;
  std::vector<int64_t> parameter_bytes;  // empty for the host's memory, where nothing is copied
  int64_t arena_bytes = 0;
  int64_t memory_bytes = 0;     // arena and scratch
  std::vector<int64_t> blocks;  // bytes of the arena's blocks but the last
  int64_t last_begin = 0;       // their sum: the last one's offset, which the scratch follows

  // In the device's memory.
  const void* OutputAddress(int output, const uintptr_t* bases) const {
    const Slot& slot = output_slots[output];
    return reinterpret_cast<const void*>(bases[slot.base] + slot.offset);
  }
};

// For one set of kept weight groups.  Thread-safe.
class SizedCalls {
 public:
  // The graph and the residence must outlive the plan.
  SizedCalls(const StepGraph& graph, const Residence& residence, BufferAssignment buffers);
  const BufferAssignment& buffers() const { return buffers_; }
  std::shared_ptr<const SizedCall> For(absl::Span<const int64_t> sizes) const;

  static constexpr size_t kMostSized = 64;

 private:
  struct Known {
    std::shared_ptr<const SizedCall> plan;
    uint64_t last_use = 0;
  };
  std::shared_ptr<const SizedCall> Make(absl::Span<const int64_t> sizes, Launch launch) const;
  absl::Status Fill(absl::Span<const int64_t> sizes, Launch launch, SizedCall* plan) const;

  const StepGraph& graph_;
  const Residence& residence_;
  const BufferAssignment buffers_;
  Launch launch_;                          // of a graph with symbols, for no sizes yet
  std::shared_ptr<const SizedCall> only_;  // of one without
  mutable std::mutex mutex_;               // guards the members below
  mutable std::shared_ptr<const SizedCall> latest_;
  mutable absl::flat_hash_map<std::vector<int64_t>, Known> known_;
  mutable uint64_t clock_ = 0;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_SIZED_CALLS_H_
