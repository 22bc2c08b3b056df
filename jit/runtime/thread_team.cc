#include "jit/runtime/thread_team.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <vector>

#include "jit/runtime/aligned_block.h"

namespace tektite::runtime {
namespace {

using backend::Kernel;
using backend::KernelFrame;
using backend::LaunchPlan;

// A worker is worth asking for when it can take over this much.
constexpr double kWorkPerWorkerNs = 10e3;
constexpr int kMostWorkers = 255;
// Below these a kernel stays with the caller: handing chunks to a worker that spins costs well
// under a microsecond; one that has not come yet will hardly come in time for a small kernel.
constexpr double kShareWithPresentNs = 3e3;
constexpr double kShareWithAbsentNs = 15e3;
// Chunks are claimed together until a claim is worth this much.
constexpr double kClaimNs = 1e3;
constexpr int kClaimsPerThread = 4;
// Workers that wake up wake others, so that the caller need not wake a large pool alone.
constexpr int kWakeAtOnce = 2;

// The ticket: what is being handed out, in one word, so that a claim is one atomic addition.
constexpr uint64_t kClosed = uint64_t{1} << 63;
constexpr int kLimitShift = 32;
constexpr int64_t kMostClaims = int64_t{1} << 30;
uint64_t Next(uint64_t ticket) { return ticket & 0xffffffffu; }
uint64_t Limit(uint64_t ticket) { return (ticket & ~kClosed) >> kLimitShift; }
bool HasWork(uint64_t ticket) { return Next(ticket) < Limit(ticket); }

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Short waits spin; long ones let others have the core.
class Backoff {
 public:
  void Wait() {
    if (++turns_ % 128 != 0 || turns_ < 1024) {
      Pause();
    } else {
      sched_yield();
    }
  }
  void Reset() { turns_ = 0; }

 private:
  unsigned turns_ = 0;
};

// This thread is inside the host's schedule function.  A pool whose queue is full may run what it
// is given at once, on the same thread: as a worker, that thread would wait for itself.
thread_local bool scheduling = false;

}  // namespace

// Each group of members that different threads write stands on cache lines of its own.
struct TeamState {
  alignas(64) std::atomic<uint64_t> ticket{kClosed};
  alignas(64) std::atomic<uint32_t> done{0};  // claims that workers have finished
  // The kernel being shared: written while no claim is out, read under a claim.
  alignas(64) const Kernel* kernel = nullptr;
  void* const* buffers = nullptr;
  const int64_t* sizes = nullptr;
  int64_t chunks = 0;
  int64_t chunks_per_claim = 1;
  alignas(64) std::atomic<int> references{0};  // caller and scheduled workers
  std::atomic<int> arrived{0};
  std::atomic<int> to_wake{0};
  HostPool pool;
  AlignedBlock scratch;  // one part for each worker
  int64_t scratch_bytes = 0;

  void RunClaim(uint64_t claim, void* worker_scratch) const {
    const int64_t begin = static_cast<int64_t>(claim) * chunks_per_claim;
    const int64_t end = std::min(begin + chunks_per_claim, chunks);
    kernel->Run(KernelFrame{buffers, sizes, worker_scratch}, begin, end);
  }

  // Needs the caller, or a claim that is not finished: the host's context lives as long.
  void WakeSome(int most);
  void Work(void* worker_scratch);
  static void WorkerMain(void* self);
};

namespace {

// States that no thread refers to.  Never destroyed: workers may outlive everything else.
class StatePool {
 public:
  static StatePool& Get() {
    static StatePool& pool = *new StatePool;
    return pool;
  }

  TeamState* Take() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        TeamState* state = idle_.back();
        idle_.pop_back();
        return state;
      }
    }
    return new TeamState;
  }

  void Unreference(TeamState* state) {
    if (state->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (idle_.size() < kMostIdle) {
        idle_.push_back(state);
        return;
      }
    }
    delete state;
  }

 private:
  static constexpr size_t kMostIdle = 32;
  std::mutex mutex_;
  std::vector<TeamState*> idle_;
};

}  // namespace

void TeamState::WakeSome(int most) {
  for (int i = 0; i < most; ++i) {
    int left = to_wake.load(std::memory_order_relaxed);
    do {
      if (left == 0) return;
    } while (!to_wake.compare_exchange_weak(left, left - 1, std::memory_order_relaxed));
    references.fetch_add(1, std::memory_order_relaxed);
    scheduling = true;
    pool.schedule(pool.context, &WorkerMain, this);
    scheduling = false;
  }
}

void TeamState::Work(void* worker_scratch) {
  Backoff backoff;
  while (true) {
    uint64_t seen = ticket.load(std::memory_order_relaxed);
    if (HasWork(seen)) {
      uint32_t finished = 0;
      while (HasWork(seen = ticket.fetch_add(1, std::memory_order_acq_rel))) {
        WakeSome(kWakeAtOnce);
        RunClaim(Next(seen), worker_scratch);
        ++finished;
        // Without the next claim this thread must not hold back what it has finished.
        if (!HasWork(ticket.load(std::memory_order_relaxed))) break;
      }
      if (finished != 0) done.fetch_add(finished, std::memory_order_release);
      backoff.Reset();
    } else if (seen & kClosed) {
      return;
    } else {
      backoff.Wait();
    }
  }
}

void TeamState::WorkerMain(void* self) {
  auto* state = static_cast<TeamState*>(self);
  if (scheduling) return StatePool::Get().Unreference(state);
  const int number = state->arrived.fetch_add(1, std::memory_order_relaxed);
  state->Work(state->scratch.data() + number * state->scratch_bytes);
  StatePool::Get().Unreference(state);
}

ThreadTeam::ThreadTeam(const HostPool& pool, double cost_ns, int64_t scratch_bytes, void* scratch)
    : scratch_(scratch) {
  if (pool.num_threads <= 0 || pool.schedule == nullptr || cost_ns < kSerialCallNs) return;
  const int workers = static_cast<int>(
      std::min<double>(std::min(pool.num_threads, kMostWorkers), cost_ns / kWorkPerWorkerNs));
  TeamState* state = StatePool::Get().Take();
  state->scratch_bytes = AlignUp(scratch_bytes);
  if (state->scratch.bytes() < state->scratch_bytes * workers) {
    state->scratch = AlignedBlock::Allocate(state->scratch_bytes * workers);
  }
  state->references.store(1, std::memory_order_relaxed);
  if (state->scratch_bytes > 0 && state->scratch.data() == nullptr) {
    StatePool::Get().Unreference(state);
    return;
  }
  state->pool = pool;
  state->arrived.store(0, std::memory_order_relaxed);
  state->to_wake.store(workers, std::memory_order_relaxed);
  state->ticket.store(0, std::memory_order_release);
  state_ = state;
  state->WakeSome(kWakeAtOnce);
}

ThreadTeam::~ThreadTeam() {
  if (state_ == nullptr) return;
  state_->ticket.store(kClosed, std::memory_order_release);
  StatePool::Get().Unreference(state_);
}

void ThreadTeam::Run(const Kernel& kernel, const LaunchPlan& plan, void* const* buffers,
                     const int64_t* sizes) {
  if (state_ != nullptr && plan.num_chunks > 1) {
    const bool present = state_->arrived.load(std::memory_order_relaxed) > 0;
    if (plan.cost_ns >= (present ? kShareWithPresentNs : kShareWithAbsentNs)) {
      return RunShared(kernel, plan, buffers, sizes);
    }
  }
  if (plan.num_chunks > 0) {
    kernel.Run(KernelFrame{buffers, sizes, scratch_}, 0, plan.num_chunks);
  }
}

void ThreadTeam::RunShared(const Kernel& kernel, const LaunchPlan& plan, void* const* buffers,
                           const int64_t* sizes) {
  TeamState& state = *state_;
  const int64_t chunks = plan.num_chunks;
  const double chunk_ns = plan.cost_ns / static_cast<double>(chunks);
  const int threads = 1 + std::min(state.pool.num_threads, kMostWorkers);
  int64_t together = static_cast<int64_t>(std::ceil(kClaimNs / chunk_ns));
  together = std::min(together, std::max<int64_t>(1, chunks / (threads * kClaimsPerThread)));
  together = std::max(together, (chunks + kMostClaims - 1) / kMostClaims);
  const int64_t claims = (chunks + together - 1) / together;

  state.kernel = &kernel;
  state.buffers = buffers;
  state.sizes = sizes;
  state.chunks = chunks;
  state.chunks_per_claim = together;
  state.done.store(0, std::memory_order_relaxed);
  state.ticket.store(static_cast<uint64_t>(claims) << kLimitShift, std::memory_order_release);

  uint32_t own = 0;
  uint64_t seen;
  while (HasWork(seen = state.ticket.fetch_add(1, std::memory_order_acq_rel))) {
    state.RunClaim(Next(seen), scratch_);
    ++own;
  }
  Backoff backoff;
  while (state.done.load(std::memory_order_acquire) + own != static_cast<uint32_t>(claims)) {
    backoff.Wait();
  }
}

}  // namespace tektite::runtime
