#include "jit/runtime/thread_team.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <mutex>
#include <vector>

#include "jit/base/rounding.h"
#include "jit/base/timing.h"
#include "jit/runtime/aligned_block.h"
#include "jit/runtime/backoff.h"
#include "jit/runtime/ready_workers.h"

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
constexpr int kClaimsPerThread = 8;
// Workers that wake up wake others, so that the caller need not wake a large pool alone.
constexpr int kWakeAtOnce = 2;
// A worker takes 10 to 150 us to come.  One that has not may have been put on the caller's own
// core, by a system that took the others for busy, and stay there for milliseconds: of calls right
// after one of TensorFlow's kernels, one in ten.  Another is asked for then.
constexpr int64_t kLateNs = 300'000;

// A ticket: what of a segment is handed out, in one word, so that a claim is one atomic addition.
constexpr int kLimitShift = 32;
constexpr int64_t kMostClaims = int64_t{1} << 30;
uint64_t Ticket(int64_t begin, int64_t end) {
  return static_cast<uint64_t>(end) << kLimitShift | static_cast<uint64_t>(begin);
}
int64_t Next(uint64_t ticket) { return static_cast<int64_t>(ticket & 0xffffffffu); }
bool HasWork(uint64_t ticket) { return (ticket & 0xffffffffu) < ticket >> kLimitShift; }

// More threads than this share the segments.
constexpr int kMostSegments = 64;
constexpr uint64_t kClosed = ~uint64_t{0};

// Adds the nanoseconds it lived to `sum`, if there is one.
class Timed {
 public:
  explicit Timed(std::atomic<int64_t>* sum)
      : sum_(sum), began_(sum == nullptr ? 0 : Nanoseconds()) {}
  ~Timed() {
    if (sum_ != nullptr) sum_->fetch_add(Nanoseconds() - began_, std::memory_order_relaxed);
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  std::atomic<int64_t>* const sum_;
  const int64_t began_;
};

// This thread is inside the host's schedule function.  A pool whose queue is full may run what it
// is given at once, on the same thread: as a worker, that thread would wait for itself.
thread_local bool scheduling = false;

}  // namespace

struct alignas(64) Segment {
  std::atomic<uint64_t> ticket{0};
};

// Each group of members that different threads write stands on cache lines of its own.
struct TeamState {
  alignas(64) std::atomic<uint64_t> round{kClosed};  // how many kernels were shared out
  alignas(64) std::atomic<uint32_t> done{0};         // claims that workers have finished
  // A kernel's claims in order, a part for each thread.
  std::array<Segment, kMostSegments> segments;
  // The kernel being shared: written while no claim is out, read under a claim.
  alignas(64) const Kernel* kernel = nullptr;
  void* const* buffers = nullptr;
  const int64_t* sizes = nullptr;
  int64_t chunks = 0;
  int64_t chunks_per_claim = 1;
  int num_segments = 1;
  alignas(64) std::atomic<int> references{0};  // caller and scheduled workers
  std::atomic<int> arrived{0};
  std::atomic<int> to_wake{0};
  std::atomic<int64_t> asked_at{0};  // the host; 0: not yet
  int workers = 0;                   // that there is scratch for
  bool asks_host = true;             // and not only workers that wait for a call
  HostPool pool;
  AlignedBlock scratch;  // one part for each worker
  int64_t scratch_bytes = 0;
  CallTimes* times = nullptr;  // read under a claim
  std::atomic<bool> is_timed{false};
  std::atomic<int64_t> first_arrival{0};  // when it was; 0: not yet

  void RunClaim(int64_t claim, void* worker_scratch) const {
    const int64_t begin = claim * chunks_per_claim;
    const int64_t end = std::min(begin + chunks_per_claim, chunks);
    kernel->Run(KernelFrame{buffers, sizes, worker_scratch}, begin, end);
  }

  // Needs the caller, or a claim that is not finished: the host's context lives as long.
  void WakeSome(int most);
  // If it was asked for workers long ago and none has come.  False where that may still turn out.
  bool AskAgainIfLate();
  void AskHost();  // for a worker that has its reference
  // What is left of a segment: `run` gets one claim after the other.  How many there were.
  template <typename RunOne>
  static uint32_t RunSegment(Segment& segment, const RunOne& run);
  void Work(int own_segment, void* worker_scratch);
  void Help();  // ends one reference
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
    if (ReadyWorkers::Get().Give(this)) continue;
    if (!asks_host) return StatePool::Get().Unreference(this);
    asked_at.store(Nanoseconds(), std::memory_order_relaxed);
    AskHost();
  }
}

void TeamState::AskHost() {
  scheduling = true;
  pool.schedule(pool.context, &WorkerMain, this);
  scheduling = false;
}

bool TeamState::AskAgainIfLate() {
  if (arrived.load(std::memory_order_relaxed) > 0) return true;
  const int64_t asked = asked_at.load(std::memory_order_relaxed);
  if (asked == 0) return true;
  if (Nanoseconds() - asked < kLateNs) return false;
  references.fetch_add(1, std::memory_order_relaxed);
  AskHost();
  return true;
}

template <typename RunOne>
uint32_t TeamState::RunSegment(Segment& segment, const RunOne& run) {
  uint32_t finished = 0;
  uint64_t seen = segment.ticket.load(std::memory_order_relaxed);
  while (HasWork(seen) && HasWork(seen = segment.ticket.fetch_add(1, std::memory_order_acq_rel))) {
    run(Next(seen));
    ++finished;
    seen = segment.ticket.load(std::memory_order_relaxed);
  }
  return finished;
}

void TeamState::Work(int own_segment, void* worker_scratch) {
  const auto run = [&](int64_t claim) {
    WakeSome(kWakeAtOnce);
    const Timed timed(times == nullptr ? nullptr : &times->helping);
    RunClaim(claim, worker_scratch);
  };
  Backoff backoff;
  // Whoever comes first finds what has been shared out before.
  for (uint64_t last = 0;;) {
    const uint64_t now = round.load(std::memory_order_acquire);
    if (now == kClosed) return;
    if (now == last) {
      backoff.Wait();
      continue;
    }
    last = now;
    backoff.Reset();
    for (int i = 0; i < num_segments; ++i) {
      // At once, since the caller waits for it.
      const uint32_t finished = RunSegment(segments[(own_segment + i) % num_segments], run);
      if (finished != 0) done.fetch_add(finished, std::memory_order_release);
    }
  }
}

void TeamState::Help() {
  const int number = arrived.fetch_add(1, std::memory_order_relaxed);
  // Another one was asked for in the place of each.
  if (number >= workers) return StatePool::Get().Unreference(this);
  if (number == 0 && is_timed) {
    first_arrival.store(Nanoseconds(), std::memory_order_relaxed);
  }
  Work(number + 1, scratch.data() + number * scratch_bytes);
  StatePool::Get().Unreference(this);
}

void TeamState::WorkerMain(void* self) {
  if (scheduling) return StatePool::Get().Unreference(static_cast<TeamState*>(self));
  ReadyWorkers::Get().Arrived(Nanoseconds() - static_cast<TeamState*>(self)->asked_at);
  while (self != nullptr) {
    auto* const state = static_cast<TeamState*>(self);
    const int64_t spin_ns = state->pool.spin_ns;
    state->Help();
    self = ReadyWorkers::Get().Wait(spin_ns);
  }
}

ThreadTeam::ThreadTeam(const HostPool& pool, double cost_ns, int64_t scratch_bytes, void* scratch,
                       CallTimes* times)
    : scratch_(scratch), times_(times), began_(times == nullptr ? 0 : Nanoseconds()) {
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
  state->times = times;
  state->is_timed.store(times != nullptr, std::memory_order_relaxed);
  state->first_arrival.store(0, std::memory_order_relaxed);
  state->arrived.store(0, std::memory_order_relaxed);
  state->asked_at.store(0, std::memory_order_relaxed);
  state->workers = workers;
  state->to_wake.store(workers, std::memory_order_relaxed);
  state->num_segments = std::min(1 + workers, kMostSegments);
  state->round.store(0, std::memory_order_release);
  state_ = state;
  ReadyWorkers::Get().CallBegins();
  state->asks_host = ReadyWorkers::Get().PaysToAsk(cost_ns, pool.spin_ns);
  state->WakeSome(kWakeAtOnce);
}

ThreadTeam::~ThreadTeam() {
  if (times_ != nullptr) NoteCall();
  if (state_ == nullptr) return;
  state_->round.store(kClosed, std::memory_order_release);
  ReadyWorkers::Get().CallEnds();
  StatePool::Get().Unreference(state_);
}

void ThreadTeam::NoteCall() const {
  const int64_t now = Nanoseconds();
  times_->calls.fetch_add(1, std::memory_order_relaxed);
  times_->team.fetch_add(now - began_, std::memory_order_relaxed);
  if (state_ == nullptr) return;
  const int64_t arrival = state_->first_arrival.load(std::memory_order_relaxed);
  times_->absent.fetch_add((arrival == 0 ? now : arrival) - began_, std::memory_order_relaxed);
  if (arrival == 0) times_->unhelped.fetch_add(1, std::memory_order_relaxed);
}

void ThreadTeam::Run(const Kernel& kernel, const LaunchPlan& plan, void* const* buffers,
                     const int64_t* sizes) {
  if (state_ != nullptr && plan.num_chunks > 1) {
    const bool present = state_->arrived.load(std::memory_order_relaxed) > 0;
    if (plan.cost_ns >= (present ? kShareWithPresentNs : kShareWithAbsentNs)) {
      return RunShared(kernel, plan, buffers, sizes);
    }
  }
  if (plan.num_chunks == 0) return;
  const Timed timed(times_ == nullptr ? nullptr : &times_->alone);
  const KernelFrame frame{buffers, sizes, scratch_};
  if (plan.num_chunks > 1 && GoesBack(kernel)) {
    for (int64_t c = plan.num_chunks; c-- > 0;) kernel.Run(frame, c, c + 1);
  } else {
    kernel.Run(frame, 0, plan.num_chunks);
  }
}

// The next step of a recurrent layer reads the same weights as the one before.  From the first to
// the last again, each would be gone from a cache that is a little too small for all of them.
bool ThreadTeam::GoesBack(const Kernel& kernel) {
  goes_back_ = last_alone_ == &kernel && !goes_back_;
  last_alone_ = &kernel;
  return goes_back_;
}

void ThreadTeam::RunShared(const Kernel& kernel, const LaunchPlan& plan, void* const* buffers,
                           const int64_t* sizes) {
  const Timed timed(times_ == nullptr ? nullptr : &times_->shared);
  TeamState& state = *state_;
  const int64_t chunks = plan.num_chunks;
  const double chunk_ns = plan.cost_ns / static_cast<double>(chunks);
  const int threads = 1 + std::min(state.pool.num_threads, kMostWorkers);
  int64_t together = static_cast<int64_t>(std::ceil(kClaimNs / chunk_ns));
  together = std::min(together, std::max<int64_t>(1, chunks / (threads * kClaimsPerThread)));
  together = std::max(together, CeilDiv(chunks, kMostClaims));
  const int64_t claims = CeilDiv(chunks, together);

  state.kernel = &kernel;
  state.buffers = buffers;
  state.sizes = sizes;
  state.chunks = chunks;
  state.chunks_per_claim = together;
  state.done.store(0, std::memory_order_relaxed);
  const int segments = state.num_segments;
  for (int s = 0; s < segments; ++s) {
    state.segments[s].ticket.store(Ticket(claims * s / segments, claims * (s + 1) / segments),
                                   std::memory_order_release);
  }
  state.round.store(++round_, std::memory_order_release);

  uint32_t own = 0;
  for (int s = 0; s < segments; ++s) {
    own += TeamState::RunSegment(state.segments[s], [&](int64_t claim) {
      if (!has_asked_again_) has_asked_again_ = state.AskAgainIfLate();
      state.RunClaim(claim, scratch_);
    });
  }
  const Timed waiting(times_ == nullptr ? nullptr : &times_->waiting);
  Backoff backoff;
  while (state.done.load(std::memory_order_acquire) + own != static_cast<uint32_t>(claims)) {
    backoff.Wait();
  }
}

}  // namespace tektite::runtime
