#include "jit/runtime/thread_team.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <new>
#include <vector>

#include "jit/base/rounding.h"
#include "jit/base/timing.h"
#include "jit/runtime/backoff.h"
#include "jit/runtime/host_memory.h"
#include "jit/runtime/ready_workers.h"

namespace tektite::runtime {
namespace {

using backend::HostKernel;
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
// How long a worker stays away from the host's queue, for each thread of the pool: 1 ms on two
// threads.  The host's own closures wait that long, where the host alone would have run them at
// once.  A caller needs up to 8 us to ask for a worker again, so that asking for all of a pool
// takes 1.6 % of its time at most, however large the pool is.  On two threads it cannot be measured
// (softmax_chain 276 us a call, 287 without slices), and another thread's slowest reduce_sum takes
// 8 ms (bench/fairness; 453 without slices, 5 in stock TensorFlow).
constexpr int64_t kSliceNsPerThread = 500'000;
// A worker that was asked for longer ago, and for a call that is over, does not look for another:
// the queue was full of the host's closures, and perhaps of requests like this one.
constexpr int64_t kStaleNs = 1'000'000;
constexpr int kTurnsPerLook = 128;  // at the clock, while a worker waits for a kernel

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

// False: the kernel found no memory (HostKernel::Run).
bool RunChunks(const HostKernel& kernel, const KernelFrame& frame, int64_t begin, int64_t end) {
  try {
    kernel.Run(frame, begin, end);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// This thread is inside the host's schedule function.  A pool whose queue is full may run what it
// is given at once, on the same thread: as a worker, that thread would wait for itself.
thread_local bool scheduling = false;

// The time a worker may stay.  Between kernels and between calls it leaves when that is over,
// since leaving then costs no more than asking again (some 1 us: the host's thread still spins);
// inside a kernel, after the claim at which it has stayed twice as long.
struct Slice {
  explicit Slice(const HostPool& pool)
      : begin(Nanoseconds()),
        end(begin + kSliceNsPerThread * (1 + std::min(pool.num_threads, kMostWorkers))),
        latest_end(2 * end - begin) {}
  int64_t begin, end, latest_end;
};

// What is scheduled: the team, and in the low bits of its address the worker that asked, 0 for the
// caller.  A closure that a pool's own thread schedules may go to the front of this thread's queue,
// for others to take from there (Eigen's pool).  A worker that has left because its time was up and
// finds there what it has scheduled itself must not run it: it would keep the host's closures
// waiting behind it once more, and so for ever.
constexpr uintptr_t kMostTags = 63;
struct WorkerThread {
  uintptr_t tag = 0;  // 0: was never a worker
  bool ran_out_of_time = false;
  uintptr_t Tag() {
    static std::atomic<uintptr_t> threads{0};
    if (tag == 0) tag = 1 + threads.fetch_add(1, std::memory_order_relaxed) % kMostTags;
    return tag;
  }
};
thread_local WorkerThread worker_thread;

// Which parts of the workers' scratch are free.
class Parts {
 public:
  // While no worker is there.
  void Reset(int count) {
    for (size_t w = 0; w < words_.size(); ++w) {
      const int bits = std::clamp(count - static_cast<int>(w) * 64, 0, 64);
      words_[w].store(bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1,
                      std::memory_order_relaxed);
    }
  }
  // -1: none.
  int Take() {
    for (size_t w = 0; w < words_.size(); ++w) {
      uint64_t seen = words_[w].load(std::memory_order_relaxed);
      while (seen != 0) {
        if (words_[w].compare_exchange_weak(seen, seen & (seen - 1), std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
          return static_cast<int>(w) * 64 + __builtin_ctzll(seen);
        }
      }
    }
    return -1;
  }
  void Release(int part) {
    words_[part / 64].fetch_or(uint64_t{1} << part % 64, std::memory_order_release);
  }

 private:
  std::array<std::atomic<uint64_t>, (kMostWorkers + 63) / 64> words_{};
};

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
  alignas(64) const HostKernel* kernel = nullptr;
  void* const* buffers = nullptr;
  const int64_t* sizes = nullptr;
  int64_t chunks = 0;
  int64_t chunks_per_claim = 1;
  int num_segments = 1;
  alignas(64) std::atomic<int> references{0};  // caller and scheduled workers
  std::atomic<int> arrived{0};                 // since the call began
  std::atomic<int> present{0};
  std::atomic<int> to_wake{0};
  Parts parts;                       // of the scratch
  std::atomic<int64_t> asked_at{0};  // the host; 0: not yet
  int workers = 0;                   // that there is scratch for
  bool asks_host = true;             // and not only workers that wait for a call
  bool was_refused = false;          // the caller's: WakeSome's last answer to it
  HostPool pool;
  backend::Block scratch;  // one part for each worker
  int64_t scratch_bytes = 0;
  std::atomic<bool> lacks_memory{false};
  CallTimes* times = nullptr;  // read under a claim
  std::atomic<bool> is_timed{false};
  std::atomic<int64_t> first_arrival{0};  // when it was; 0: not yet

  void RunClaim(int64_t claim, void* worker_scratch) {
    const int64_t begin = claim * chunks_per_claim;
    const int64_t end = std::min(begin + chunks_per_claim, chunks);
    if (!RunChunks(*kernel, KernelFrame{buffers, sizes, worker_scratch}, begin, end)) {
      lacks_memory.store(true, std::memory_order_relaxed);
    }
  }

  // Needs the caller, or a claim that is not finished: the host's context lives as long.  False:
  // one should be asked for later, since so many of the pool's threads are here or on their way.
  bool WakeSome(int most);
  // If it was asked for workers long ago and none has come.  False where that may still turn out.
  bool AskAgainIfLate();
  // For the caller, where no worker is there that would do it.
  void AskForThoseWhoLeft() {
    if (to_wake.load(std::memory_order_relaxed) == 0) return;
    if (!was_refused && arrived.load(std::memory_order_relaxed) == 0) return;
    if (present.load(std::memory_order_relaxed) == 0) was_refused = !WakeSome(kWakeAtOnce);
  }
  void AskHost();  // for a worker that has its reference
  // What is left of a segment: `run` gets one claim after the other, until it returns false.  How
  // many there were.
  template <typename RunOne>
  static uint32_t RunSegment(Segment& segment, const RunOne& run);
  // False: the time was up before the call's end.
  bool Work(int own_segment, void* worker_scratch, const Slice& slice);
  bool Help(const Slice& slice);  // ends one reference
  static void WorkerMain(void* scheduled);
  static void HelpCalls(TeamState* state, uintptr_t asked_by);
};

namespace {

// For workers' scratch.  Never destroyed, as the states that hold it.
HostMemory& SystemMemory() {
  static HostMemory& memory = *new HostMemory;
  return memory;
}

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

bool TeamState::WakeSome(int most) {
  ReadyWorkers& ready = ReadyWorkers::Get();
  for (int i = 0; i < most; ++i) {
    int left = to_wake.load(std::memory_order_relaxed);
    do {
      if (left == 0) return true;
    } while (!to_wake.compare_exchange_weak(left, left - 1, std::memory_order_relaxed));
    references.fetch_add(1, std::memory_order_relaxed);
    if (ready.Give(this)) continue;
    if (!asks_host) {
      StatePool::Get().Unreference(this);
      return true;
    }
    const bool may_ask = ready.TakeThread(pool.num_threads);
    // A worker that was refused and does not come by itself is late as well (AskAgainIfLate).
    if (may_ask || asked_at.load(std::memory_order_relaxed) == 0) {
      asked_at.store(Nanoseconds(), std::memory_order_relaxed);
    }
    if (!may_ask) {
      to_wake.fetch_add(1, std::memory_order_relaxed);
      StatePool::Get().Unreference(this);
      return false;
    }
    AskHost();
  }
  return true;
}

void TeamState::AskHost() {
  static_assert(alignof(TeamState) > kMostTags);
  scheduling = true;
  pool.schedule(pool.context, &WorkerMain, reinterpret_cast<char*>(this) + worker_thread.tag);
  scheduling = false;
}

bool TeamState::AskAgainIfLate() {
  if (arrived.load(std::memory_order_relaxed) > 0) return true;
  const int64_t asked = asked_at.load(std::memory_order_relaxed);
  if (asked == 0) return true;
  if (Nanoseconds() - asked < kLateNs) return false;
  references.fetch_add(1, std::memory_order_relaxed);
  ReadyWorkers::Get().TakeThread(std::numeric_limits<int>::max());
  AskHost();
  return true;
}

template <typename RunOne>
uint32_t TeamState::RunSegment(Segment& segment, const RunOne& run) {
  uint32_t finished = 0;
  uint64_t seen = segment.ticket.load(std::memory_order_relaxed);
  while (HasWork(seen) && HasWork(seen = segment.ticket.fetch_add(1, std::memory_order_acq_rel))) {
    const bool goes_on = run(Next(seen));
    ++finished;
    if (!goes_on) break;
    seen = segment.ticket.load(std::memory_order_relaxed);
  }
  return finished;
}

bool TeamState::Work(int own_segment, void* worker_scratch, const Slice& slice) {
  bool has_time = true;
  const auto run = [&](int64_t claim) {
    WakeSome(kWakeAtOnce);
    {
      const Timed timed(times == nullptr ? nullptr : &times->helping);
      RunClaim(claim, worker_scratch);
    }
    return has_time = Nanoseconds() < slice.latest_end;
  };
  Backoff backoff;
  int turns = 0;
  // Whoever comes first finds what has been shared out before.
  for (uint64_t last = 0;;) {
    const uint64_t now = round.load(std::memory_order_acquire);
    if (now == kClosed) return true;
    if (now == last) {
      if (++turns % kTurnsPerLook == 0 && Nanoseconds() >= slice.end) return false;
      backoff.Wait();
      continue;
    }
    last = now;
    backoff.Reset();
    for (int i = 0; i < num_segments && has_time; ++i) {
      // At once, since the caller waits for it.
      const uint32_t finished = RunSegment(segments[(own_segment + i) % num_segments], run);
      if (finished != 0) done.fetch_add(finished, std::memory_order_release);
    }
    if (!has_time) return false;
  }
}

bool TeamState::Help(const Slice& slice) {
  const int part = parts.Take();
  // Another one was asked for in the place of each.
  if (part < 0) {
    StatePool::Get().Unreference(this);
    return true;
  }
  present.fetch_add(1, std::memory_order_relaxed);
  if (arrived.fetch_add(1, std::memory_order_relaxed) == 0 && is_timed) {
    first_arrival.store(Nanoseconds(), std::memory_order_relaxed);
  }
  const bool stayed = Work(part + 1, scratch.data() + part * scratch_bytes, slice);
  present.fetch_sub(1, std::memory_order_relaxed);
  parts.Release(part);
  // Those who are still there ask for another.
  if (!stayed) to_wake.fetch_add(1, std::memory_order_relaxed);
  StatePool::Get().Unreference(this);
  return stayed;
}

void TeamState::WorkerMain(void* scheduled) {
  const uintptr_t asked_by = reinterpret_cast<uintptr_t>(scheduled) & kMostTags;
  void* const self = static_cast<char*>(scheduled) - asked_by;
  HelpCalls(static_cast<TeamState*>(self), asked_by);
  ReadyWorkers::Get().ReturnThread();
}

void TeamState::HelpCalls(TeamState* state, uintptr_t asked_by) {
  if (scheduling) return StatePool::Get().Unreference(state);
  WorkerThread& thread = worker_thread;
  if (thread.ran_out_of_time && asked_by == thread.Tag()) {
    state->to_wake.fetch_add(1, std::memory_order_relaxed);
    return StatePool::Get().Unreference(state);
  }
  thread.Tag();
  const int64_t waited = Nanoseconds() - state->asked_at;
  ReadyWorkers::Get().Arrived(waited);
  if (waited > kStaleNs && state->round.load(std::memory_order_relaxed) == kClosed) {
    return StatePool::Get().Unreference(state);
  }
  const Slice slice(state->pool);
  do {
    const int64_t spin_ns = state->pool.spin_ns;
    thread.ran_out_of_time = !state->Help(slice);
    if (thread.ran_out_of_time) return;
    state = static_cast<TeamState*>(ReadyWorkers::Get().Wait(spin_ns, slice.end));
  } while (state != nullptr);
  thread.ran_out_of_time = Nanoseconds() >= slice.end;
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
    state->scratch = SystemMemory().Allocate(state->scratch_bytes * workers);
  }
  state->references.store(1, std::memory_order_relaxed);
  if (state->scratch_bytes > 0 && state->scratch.data() == nullptr) {
    StatePool::Get().Unreference(state);
    return;
  }
  state->pool = pool;
  state->lacks_memory.store(false, std::memory_order_relaxed);
  state->times = times;
  state->is_timed.store(times != nullptr, std::memory_order_relaxed);
  state->first_arrival.store(0, std::memory_order_relaxed);
  state->arrived.store(0, std::memory_order_relaxed);
  state->present.store(0, std::memory_order_relaxed);
  state->parts.Reset(workers);
  state->asked_at.store(0, std::memory_order_relaxed);
  state->workers = workers;
  state->to_wake.store(workers, std::memory_order_relaxed);
  state->num_segments = std::min(1 + workers, kMostSegments);
  state->round.store(0, std::memory_order_release);
  state_ = state;
  ReadyWorkers::Get().CallBegins();
  state->asks_host = ReadyWorkers::Get().PaysToAsk(cost_ns, pool.spin_ns);
  state->was_refused = !state->WakeSome(kWakeAtOnce);
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

void ThreadTeam::Run(const HostKernel& kernel, const LaunchPlan& plan, void* const* buffers,
                     const int64_t* sizes) {
  if (state_ != nullptr && plan.num_chunks > 1) {
    const bool present = state_->present.load(std::memory_order_relaxed) > 0;
    if (!present) state_->AskForThoseWhoLeft();
    if (plan.cost_ns >= (present ? kShareWithPresentNs : kShareWithAbsentNs)) {
      return RunShared(kernel, plan, buffers, sizes);
    }
  }
  if (plan.num_chunks == 0) return;
  const Timed timed(times_ == nullptr ? nullptr : &times_->alone);
  const KernelFrame frame{buffers, sizes, scratch_};
  bool has_memory = true;
  if (plan.num_chunks > 1 && GoesBack(kernel)) {
    for (int64_t c = plan.num_chunks; c-- > 0;) {
      has_memory = RunChunks(kernel, frame, c, c + 1) && has_memory;
    }
  } else {
    has_memory = RunChunks(kernel, frame, 0, plan.num_chunks);
  }
  if (!has_memory) lacks_memory_ = true;
}

bool ThreadTeam::lacks_memory() const {
  return lacks_memory_ ||
         (state_ != nullptr && state_->lacks_memory.load(std::memory_order_relaxed));
}

// The next step of a recurrent layer reads the same weights as the one before.  From the first to
// the last again, each would be gone from a cache that is a little too small for all of them.
bool ThreadTeam::GoesBack(const HostKernel& kernel) {
  goes_back_ = last_alone_ == &kernel && !goes_back_;
  last_alone_ = &kernel;
  return goes_back_;
}

void ThreadTeam::RunShared(const HostKernel& kernel, const LaunchPlan& plan, void* const* buffers,
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
      state.AskForThoseWhoLeft();
      state.RunClaim(claim, scratch_);
      return true;
    });
  }
  const Timed waiting(times_ == nullptr ? nullptr : &times_->waiting);
  Backoff backoff;
  while (state.done.load(std::memory_order_acquire) + own != static_cast<uint32_t>(claims)) {
    backoff.Wait();
  }
}

}  // namespace tektite::runtime
