// A compiled graph, ready to be called from any number of threads at once.
//
//   TEKTITE_ASSIGN_OR_RETURN(StepGraph steps, StepGraph::Create(graph, kernels));
//   auto executable = Executable::Create(std::move(steps), options);
//   TEKTITE_RETURN_IF_ERROR(executable->Run(arguments, host));
//
// A graph with symbols serves every size of them that its checks allow (size_checks.h); what a call
// does is planned once for each set of sizes (sized_calls.h).
//
// A call takes an arena, asks the host for the results' memory, and launches the steps on a stream
// of the device that the kernels were compiled for.  On a stream of the host's it returns before
// they have run, unless something has to be known on the host: a result that lies there, a size, a
// condition.  Arguments and results that lie in another memory than the device's are copied;
// arguments that keep their version stay on the device, up to the bound on weights
// (resident_arguments.h).  Results whose values decide
// how many rows they have are computed in the arena, with room for all there can be, and copied
// when their number is known. Work on weights alone is done in the first call that names their
// versions and kept (weights.h); a group of it whose weights have no version, or whose results are
// over the budget, runs in each call.  Deferred groups run in none: their readers take what they
// are computed from, until they are computed behind the calls that find it unchanged
// (late_packing.h).
#ifndef TEKTITE_JIT_RUNTIME_EXECUTABLE_H_
#define TEKTITE_JIT_RUNTIME_EXECUTABLE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/runtime/memory/arena_pool.h"
#include "jit/runtime/rounds.h"
#include "jit/runtime/sized_calls.h"
#include "jit/runtime/step_graph.h"
#include "jit/runtime/threads/thread_team.h"
#include "jit/runtime/weights/weights.h"

namespace tektite::runtime {

using backend::MemorySpace;

struct Argument {
  const void* data = nullptr;  // in `space`
  // 0: the content may change from call to call.  Otherwise equal versions mean equal content.
  uint64_t version = 0;
  // Sizes, for a parameter from which symbols take their values.
  const int64_t* dims = nullptr;
  MemorySpace space = MemorySpace::kHost;
};

// The host's side of one call.
class CallHost {
 public:
  virtual ~CallHost() = default;
  virtual HostPool Pool() = 0;
  // Whether one of the next two may answer something else than the host's memory and null.
  virtual bool HasDevice() { return false; }
  // Which memory a result lies in: the host's or the device's.
  virtual MemorySpace ResultSpace(int result) { return MemorySpace::kHost; }
  // The host's stream of the device, on which arguments are ready in order and results are wanted
  // in order (StreamOptions::host_stream); null: arguments are ready, results too when Run returns.
  virtual void* DeviceStream() { return nullptr; }
  // Memory for a result, aligned to kAlignment; null when there is none.
  virtual void* Allocate(int result, const TensorType& type) = 0;
  // Makes result `result` the same buffer as argument `argument`; false: it has to be copied.
  virtual bool Forward(int result, int argument) { return false; }

  // The place where the new value of an argument must be written.
  struct Update {
    int argument = 0;
    bool in_place = false;   // the argument's own memory will do
    void* memory = nullptr;  // the host's answer, in the argument's memory space
  };
  // Whether TraceStep is to be told what runs; each step is then waited for.
  virtual bool TracesSteps() { return false; }
  // A step of that name begins on the calling thread; null: it has ended.
  virtual void TraceStep(const char* name) {}
  // Whether the call's results are needed no more.  Asked on any thread.
  virtual bool IsCancelled() { return false; }
  // From here on nothing fails, and values written into `memory` count when Run returns.  False:
  // the host does not allow it, and nothing has been changed.
  virtual bool BeginUpdates(absl::Span<Update> updates) { return false; }
};

class Executable : private WeightHolder {
 public:
  struct Options {
    // Both of the device that the kernels were compiled for.
    std::shared_ptr<ArenaPool> arenas;
    std::shared_ptr<WeightStore> weights;
    OutputRoles roles;
    int64_t spin_ns = 0;   // HostPool::spin_ns
    bool profile = false;  // measure steps, and so join none
  };
  static std::shared_ptr<Executable> Create(StepGraph graph, Options options);
  ~Executable() override;

  // `arguments` have the types of graph().parameters.  FailedPrecondition when a check is false or
  // the host does not allow updates, OutOfRange when there is no code for these sizes (and then
  // nothing was asked of the host), ResourceExhausted when there is no memory, Cancelled when the
  // host said so before the first update.
  absl::Status Run(absl::Span<const Argument> arguments, CallHost& host);

  // Distinguishes the executables of a process; a later one has a higher number.
  uint64_t number() const { return number_; }
  const StepGraph& graph() const { return graph_; }
  const Residence& residence() const { return residence_; }
  // With every weight group kept, at typical sizes: what a call needs, and what it cannot do
  // without.
  int64_t arena_bytes() const { return arena_bytes_; }
  int64_t max_live_bytes() const { return max_live_bytes_; }

  bool has_added_checks() const { return options_.roles.num_added_checks > 0; }
  // Deferred groups that the latest call's weights have no block for yet.
  int num_unpacked() const { return num_unpacked_.load(std::memory_order_relaxed); }

  // By step; empty without Options::profile.
  const std::vector<StepTime>& step_times() const { return step_times_; }
  // Null without Options::profile.  `whole` is its callers' to add to, in every call; all else is
  // of timed calls.
  CallTimes* call_times() const { return call_times_.get(); }
  int64_t num_calls() const { return calls_.load(std::memory_order_relaxed); }
  int64_t num_timed_calls() const { return timed_calls_.load(std::memory_order_relaxed); }
  // The steps of a call and where their buffers lie, for people: a line each.
  std::string PlanText() const;

 private:
  class Call;
  class Watch;
  struct WeightState;
  using Sizes = absl::InlinedVector<int64_t, 8>;

  Executable(StepGraph graph, Options options);
  void ReleaseWeights() override;
  // The state that fits the arguments' versions, made when there is none.
  std::shared_ptr<const WeightState> Weights(absl::Span<const Argument> arguments, CallHost& host);
  // Null: none.
  void SetState(std::shared_ptr<const WeightState> state);
  std::shared_ptr<const WeightBlock> ComputeGroup(int group, absl::Span<const Argument> arguments,
                                                  CallHost& host) const;
  struct Versions {
    std::vector<uint64_t> list;
    bool are_known = true;
  };
  Versions VersionsOf(int group, absl::Span<const Argument> arguments) const;
  // Of a deferred group in a call with new versions: its block, if it has one.
  std::shared_ptr<const WeightBlock> DeferredBlock(int group, const Versions& versions);
  // What a deferred group packs, and what its readers read until then.
  const void* OperandOfDeferred(int group, absl::Span<const Argument> arguments) const;
  // After a call that took so long with this state.
  void PackLater(const std::shared_ptr<const WeightState>& state,
                 absl::Span<const Argument> arguments, int64_t nanoseconds);
  // For some `left` nanoseconds, if its weights, of these versions, are ready for it; returns how
  // long it took.
  int64_t PackGroup(int group, const std::vector<uint64_t>& versions,
                    absl::Span<const Argument> arguments, int64_t left);
  std::shared_ptr<const SizedCalls> SizedCallsFor(std::vector<bool> kept);
  BufferAssignment AssignBuffersFor(const std::vector<bool>& kept) const;
  absl::Status PlaceConstants();
  absl::Status CheckSpaces(absl::Span<const Argument> arguments, CallHost& host) const;
  absl::StatusOr<Sizes> SizesOf(absl::Span<const Argument> arguments, CallHost& host) const;
  HostPool PoolOf(CallHost& host) const;
  // How many calls the next one stands for in the times of steps; 0: it is not timed
  // (call_sampling.h).
  int WeightOfCall() const;

  const uint64_t number_;
  const StepGraph graph_;
  const Options options_;
  const std::shared_ptr<backend::Device> device_;
  const bool is_host_;  // device_->is_host()
  // What launches on a device use that is not the host's: they may run when the executable has
  // gone.
  struct OnDevice {
    backend::Block constants;
    std::vector<std::shared_ptr<const backend::Kernel>> kernels;
  };
  std::shared_ptr<const OnDevice> on_device_;  // null on the host's
  Residence residence_;
  absl::Status ready_;                        // or why the constants have no place
  std::vector<WeightStore::Entry*> entries_;  // by group
  std::vector<int> versioned_;                // parameters that any group reads
  int64_t arena_bytes_ = 0;
  int64_t max_live_bytes_ = 0;
  mutable std::vector<StepTime> step_times_;  // empty without Options::profile
  std::unique_ptr<CallTimes> call_times_;
  mutable std::atomic<int64_t> calls_{0}, timed_calls_{0};  // with Options::profile

  // Under the weight store's mutex: plans by which groups are kept.
  std::map<std::vector<bool>, std::shared_ptr<const SizedCalls>> plans_;

  std::mutex state_mutex_;
  std::shared_ptr<const WeightState> state_;
  std::atomic<int> num_unpacked_{0};  // of state_
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_EXECUTABLE_H_
