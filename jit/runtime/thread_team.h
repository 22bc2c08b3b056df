// One call's threads: the caller, and whichever of the host's workers come to help.
//
//   ThreadTeam team(pool, total_cost_ns, scratch_bytes, callers_scratch);
//   for (const Step& step : steps) team.Run(*step.kernel, plan, buffers, sizes);
//
// Why not a fork and join for each kernel: waking a sleeping pool costs some 8 us, as much as the
// kernel.  Here the host's workers are asked for once; the caller starts at once and alone; a
// worker that arrives claims chunks of whatever kernel runs, and stays until the call's end. Nobody
// waits for a worker that has not arrived: a kernel is done when its claimed chunks are.  A worker
// that comes after the end finds the team closed and touches nothing else; the state it looks at is
// counted and pooled.  So a pool that is busy, or has no threads, or whose own thread calls, only
// makes a call slower.
//
// Chunks are the kernel's own and do not depend on the team, so neither do results.
// The host's context is used during the call only.
#ifndef TEKTITE_JIT_RUNTIME_THREAD_TEAM_H_
#define TEKTITE_JIT_RUNTIME_THREAD_TEAM_H_

#include <cstdint>

#include "jit/backend/backend.h"

namespace tektite::runtime {

struct HostPool {
  int num_threads = 0;  // the caller not counted
  void* context = nullptr;
  // Runs fn(arg) once, some time, on another thread; does not block.
  void (*schedule)(void* context, void (*fn)(void*), void* arg) = nullptr;
};

struct TeamState;

class ThreadTeam {
 public:
  // `cost_ns` of the whole call decides how many workers are asked for: none below kSerialCallNs.
  // `scratch_bytes` is the largest need of any kernel, `scratch` the caller's own.
  ThreadTeam(const HostPool& pool, double cost_ns, int64_t scratch_bytes, void* scratch);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  // Returns when every chunk is done.  `plan` is the kernel's for `sizes`.
  void Run(const backend::Kernel& kernel, const backend::LaunchPlan& plan, void* const* buffers,
           const int64_t* sizes);

  static constexpr double kSerialCallNs = 20e3;

 private:
  void RunShared(const backend::Kernel& kernel, const backend::LaunchPlan& plan,
                 void* const* buffers, const int64_t* sizes);

  TeamState* state_ = nullptr;  // null: the caller is alone
  void* scratch_;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_THREAD_TEAM_H_
