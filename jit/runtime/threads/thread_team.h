// One call's threads: the caller, and whichever of the host's workers come to help.
//
//   ThreadTeam team(pool, total_cost_ns, scratch_bytes, callers_scratch);
//   for (const Step& step : steps) team.Run(*step.kernel, config, buffers, sizes);
//
// Why not a fork and join for each kernel: waking a sleeping pool costs some 8 us, as much as the
// kernel.  Here the host's workers are asked for once; the caller starts at once and alone; a
// worker that arrives claims chunks of whatever kernel runs, until the call's end or its time is
// up. The caller does not wait for a worker that has not arrived: a kernel is done when its claimed
// chunks are.  Where none has come for long, another one is asked for.  A worker that comes after
// the end finds the team closed and touches nothing else; the state it looks at is counted and
// pooled.  So a pool that is busy, or has no threads, or whose own thread calls, only makes a call
// slower.
//
// The pool is the host's, whose own closures wait in its queue: a worker goes back to it after a
// time slice (of 1 ms on two threads, of 4 where workers come at once), however long a call takes
// and however many follow each other, and the caller asks for another at the queue's end.
//
// A kernel's chunks are offered in parts that follow each other, one for each thread: each takes
// its own part first, then chunks that are left of other parts.  So a thread that wrote rows in one
// kernel reads them in the next, out of its own core's cache, and a part whose thread did not come
// is not lost.
//
// A caller that is alone runs a kernel that follows itself from its last chunk to its first, so
// that it finds the bytes that it read last in cache.  (64 steps of an LSTM of width 256, whose
// weights take all of L2: 906 us became 830.)
//
// Chunks are the kernel's own and do not depend on the team, so neither do results.
// The host's context is used during the call only.
#ifndef TEKTITE_JIT_RUNTIME_THREADS_THREAD_TEAM_H_
#define TEKTITE_JIT_RUNTIME_THREADS_THREAD_TEAM_H_

#include <cstdint>

#include "jit/backend/stream.h"

namespace tektite::runtime {

using backend::CallTimes;
using backend::HostPool;

struct TeamState;

class ThreadTeam {
 public:
  // `cost_ns` of the whole call decides how many workers are asked for: none below kSerialCallNs,
  // or below what they take to come, which is measured (ready_workers.h). `scratch_bytes` is the
  // largest need of any kernel, `scratch` the caller's own. `times`: null, or where to note what
  // became of the time; must outlive every worker's stay.
  ThreadTeam(const HostPool& pool, double cost_ns, int64_t scratch_bytes, void* scratch,
             CallTimes* times = nullptr);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  // Returns when every chunk is done.  `config` is the kernel's for `sizes`.
  void Run(const backend::HostKernel& kernel, const backend::LaunchConfig& config,
           void* const* buffers, const int64_t* sizes);

  // Whether a kernel has found no memory: it and the kernels after it write garbage.
  bool lacks_memory() const;

  static constexpr double kSerialCallNs = 20e3;
  // A kernel below this stays with the caller: handing chunks to a worker that spins costs well
  // under a microsecond.
  static constexpr double kShareWithPresentNs = 3e3;

 private:
  void RunShared(const backend::HostKernel& kernel, const backend::LaunchConfig& config,
                 void* const* buffers, const int64_t* sizes);

  // Whether the caller, alone, takes the kernel's chunks from the last to the first.
  bool GoesBack(const backend::HostKernel& kernel);
  void NoteCall() const;

  TeamState* state_ = nullptr;  // null: the caller is alone
  void* scratch_;
  uint64_t offers_ = 0;                              // kernels shared out so far
  const backend::HostKernel* last_alone_ = nullptr;  // of several chunks
  bool goes_back_ = false;
  bool has_asked_again_ = false;  // or need not
  bool lacks_memory_ = false;     // for a kernel that the caller ran alone
  CallTimes* times_;
  int64_t began_ = 0;
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_THREADS_THREAD_TEAM_H_
