#include "jit/runtime/threads/team_state.h"

#include <limits>
#include <new>

#include "jit/runtime/threads/backoff.h"
#include "jit/runtime/threads/ready_workers.h"

namespace tektite::runtime {
namespace {

// A worker takes 10 to 150 us to come.  One that has not may have been put on the caller's own
// core, by a system that took the other cores for busy, and stay there for milliseconds: of calls
// right after one of TensorFlow's kernels, one in ten.  Another is asked for then.
constexpr int64_t kLateNs = 300'000;
// A worker that was asked for longer ago, and for a call that is over, does not look for another:
// the queue was full of the host's closures, and perhaps of requests like this one.
constexpr int64_t kStaleNs = 1'000'000;
constexpr int kTurnsPerLook = 128;  // at the clock, while a worker waits for a kernel

// This thread is inside the host's schedule function.  A pool whose queue is full may run what it
// is given at once, on the same thread: as a worker, that thread would wait for itself.
thread_local bool scheduling = false;

// The argument of a scheduled closure: the team, and in the low bits of its address the worker that
// asked, 0 for the caller.  A closure that a pool's own thread schedules may go to the front of
// this thread's queue, for other threads to take from there (Eigen's pool).  A worker that has left
// because its time was up and finds there a closure that it has scheduled itself must not run it:
// it would keep the host's closures waiting behind it once more, and so for ever.
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

}  // namespace

bool RunChunks(const HostKernel& kernel, const KernelFrame& frame, int64_t begin, int64_t end) {
  try {
    kernel.Run(frame, begin, end);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

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
      TeamStatePool::Get().Unreference(this);
      return true;
    }
    const bool may_ask = ready.TakeThread(pool.num_threads);
    // A worker that was refused and does not come by itself is late as well (AskAgainIfLate).
    if (may_ask || asked_at.load(std::memory_order_relaxed) == 0) {
      asked_at.store(Nanoseconds(), std::memory_order_relaxed);
    }
    if (!may_ask) {
      to_wake.fetch_add(1, std::memory_order_relaxed);
      TeamStatePool::Get().Unreference(this);
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

bool TeamState::Work(int own_segment, void* worker_scratch, const TimeSlice& slice) {
  const auto has_time = [&] { return Nanoseconds() < slice.latest_end; };
  const auto run_segment = [&](Segment& segment, bool is_own) {
    const auto run = [&](int64_t claim) {
      WakeSome(kWakeAtOnce);
      const Timed timed(times == nullptr ? nullptr : &times->helping);
      RunClaim(segment, claim, worker_scratch);
    };
    return RunSegment(segment, is_own, run, has_time);
  };
  Backoff backoff;
  int turns = 0;
  // A worker that comes first finds kernels that were offered before it came.
  for (uint64_t last = 0;;) {
    const uint64_t now = offers.load(std::memory_order_acquire);
    if (now == kClosed) return true;
    if (now == last) {
      if (++turns % kTurnsPerLook == 0 && Nanoseconds() >= slice.end) return false;
      backoff.Wait();
      continue;
    }
    last = now;
    backoff.Reset();
    for (int i = 0; i < num_segments; ++i) {
      // At once, since the caller waits for it: before the next look at the clock.
      const uint32_t finished = run_segment(segments[(own_segment + i) % num_segments], i == 0);
      if (finished == 0) continue;
      done.fetch_add(finished, std::memory_order_release);
      if (!has_time()) return false;
    }
  }
}

bool TeamState::Help(const TimeSlice& slice) {
  const int part = parts.Take();
  // Another one was asked for in the place of each.
  if (part < 0) {
    TeamStatePool::Get().Unreference(this);
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
  TeamStatePool::Get().Unreference(this);
  return stayed;
}

void TeamState::WorkerMain(void* scheduled) {
  const uintptr_t asked_by = reinterpret_cast<uintptr_t>(scheduled) & kMostTags;
  void* const self = static_cast<char*>(scheduled) - asked_by;
  HelpCalls(static_cast<TeamState*>(self), asked_by);
  ReadyWorkers::Get().ReturnThread();
}

void TeamState::HelpCalls(TeamState* state, uintptr_t asked_by) {
  if (scheduling) return TeamStatePool::Get().Unreference(state);
  WorkerThread& thread = worker_thread;
  if (thread.ran_out_of_time && asked_by == thread.Tag()) {
    state->to_wake.fetch_add(1, std::memory_order_relaxed);
    return TeamStatePool::Get().Unreference(state);
  }
  thread.Tag();
  const int64_t waited = Nanoseconds() - state->asked_at;
  ReadyWorkers::Get().Arrived(waited);
  if (waited > kStaleNs && state->offers.load(std::memory_order_relaxed) == kClosed) {
    return TeamStatePool::Get().Unreference(state);
  }
  const TimeSlice slice(state->pool, ReadyWorkers::Get().prompt_arrivals());
  do {
    const int64_t spin_ns = state->pool.spin_ns;
    thread.ran_out_of_time = !state->Help(slice);
    if (thread.ran_out_of_time) return;
    state = static_cast<TeamState*>(ReadyWorkers::Get().Wait(spin_ns, slice.end));
  } while (state != nullptr);
  thread.ran_out_of_time = Nanoseconds() >= slice.end;
}

}  // namespace tektite::runtime
