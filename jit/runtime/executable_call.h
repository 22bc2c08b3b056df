// One call of an executable: its arena, the addresses that its kernels see, and its copies.
//
// Internal to executable.cc.  On the host's device nothing is staged: kernels read arguments and
// write results where they lie.  On any other device each tensor in the host's memory has a place
// in the arena behind the scratch: arguments are copied there before the first launch, results from
// there after the last.  Nothing here dereferences an address unless it is the host's.
#ifndef TEKTITE_JIT_RUNTIME_EXECUTABLE_CALL_H_
#define TEKTITE_JIT_RUNTIME_EXECUTABLE_CALL_H_

#include <memory>
#include <vector>

#include "absl/container/fixed_array.h"
#include "absl/container/inlined_vector.h"
#include "jit/runtime/executable.h"
#include "jit/runtime/staged_arguments.h"

namespace tektite::runtime {

struct Executable::WeightState {
  std::vector<uint64_t> versions;                          // of versioned_
  std::vector<std::shared_ptr<const WeightBlock>> blocks;  // by group; null: not kept
  std::shared_ptr<const SizedCalls> plan;
  std::vector<int> unpacked;  // deferred groups that may still get a block
};

// What --profile_kernels and a host's tracer are told of steps.
class Executable::Watch final : public StepWatch {
 public:
  Watch(const Executable& executable, CallHost& host, int weight)
      : e_(executable), host_(host), weight_(weight) {}
  StepWatch* IfAsked() { return weight_ > 0 || host_.TracesSteps() ? this : nullptr; }
  void Begins(int step) override;
  void Ran(int step, int64_t began, int64_t took) override;

 private:
  const Executable& e_;
  CallHost& host_;
  const int weight_;  // Executable::WeightOfCall
};

// Borrows everything.
class Executable::Call {
 public:
  Call(const Executable& executable, const std::shared_ptr<const WeightState>& weights,
       const SizedCall& plan, absl::Span<const Argument> arguments, CallHost& host);
  absl::Status Run();

 private:
  static constexpr size_t kOnStack = 256;
  static constexpr int64_t kUnstaged = -1;

  const OutputSource& output(int k) const { return buffers_.outputs[k]; }
  bool IsStaged(int k) const { return !staged_outputs_.empty() && staged_outputs_[k] != kUnstaged; }
  int num_outputs() const { return static_cast<int>(buffers_.outputs.size()); }
  uintptr_t* results() { return bases_.data() + plan_.launch.first_result(); }
  MemorySpace SpaceOfResult(int k) const;

  // By block; the last is followed by scratch and staged tensors.
  using Arena = absl::InlinedVector<ArenaPool::Lease, 1>;
  absl::StatusOr<Arena> AcquireArena() const;
  void PlaceStaging();
  // A place of `bytes` at the arena's end: its offset there.
  int64_t Stage(int64_t bytes);
  void SetBases();
  absl::Status AllocateResults();
  // Where output `k` is computed that the host has given `memory` for.
  void SetResult(int k, void* memory);
  absl::Status BeginUpdates();

  backend::StreamOptions OptionsFor(int begin, int end,
                                    absl::FunctionRef<bool()> is_cancelled) const;
  absl::Status Launch(backend::Stream& stream, int begin, int end);
  // So that what the device still uses stays as long.
  void KeepFor(backend::Stream& stream) const;
  void CopyIn(backend::Stream& stream) const;
  // The part of a call that values decide: checks, and results whose rows were counted.
  absl::Status FinishByValues(backend::Stream& stream);
  void CopyOut(backend::Stream& stream) const;
  void Copy(backend::Stream& stream, void* to, MemorySpace to_space, const void* from,
            MemorySpace from_space, int64_t bytes) const;

  const Executable& e_;
  const BufferAssignment& buffers_;
  const SizedCall& plan_;
  const std::shared_ptr<const WeightState>& weights_;
  const absl::Span<const Argument> arguments_;
  CallHost& host_;
  void* const host_stream_;
  const int num_results_;  // outputs before the updates
  const int weight_;
  HostPool pool_;

  absl::FixedArray<uintptr_t, kOnStack> bases_;
  absl::FixedArray<void*, kOnStack> pointers_;
  // Of the arena's last block, scratch and staged tensors.
  int64_t arena_bytes_;
  std::byte* arena_ = nullptr;
  // Offsets in the arena, or kUnstaged.
  int64_t staged_sizes_ = kUnstaged;
  StagedArguments staged_arguments_;
  std::vector<int64_t> staged_outputs_;  // by output; empty on the host's device
  std::vector<void*> memory_;            // the host's, of staged outputs
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_EXECUTABLE_CALL_H_
