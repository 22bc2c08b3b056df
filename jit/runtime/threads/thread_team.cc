#include "jit/runtime/threads/thread_team.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "jit/base/rounding.h"
#include "jit/base/timing.h"
#include "jit/runtime/memory/host_memory.h"
#include "jit/runtime/threads/backoff.h"
#include "jit/runtime/threads/ready_workers.h"
#include "jit/runtime/threads/team_state.h"

namespace tektite::runtime {
namespace {

using backend::LaunchConfig;

// A worker is worth asking for when it can take over this much.
constexpr double kWorkPerWorkerNs = 10e3;
// As kShareWithPresentNs: a worker that has not come yet will hardly come in time for a small
// kernel.
constexpr double kShareWithAbsentNs = 15e3;
// Chunks are claimed together until a claim is worth this much.
constexpr double kClaimNs = 1e3;
constexpr int kClaimsPerThread = 8;

// For workers' scratch.  Never destroyed, as the states that hold it.
HostMemory& SystemMemory() {
  static HostMemory& memory = *new HostMemory;
  return memory;
}

}  // namespace

ThreadTeam::ThreadTeam(const HostPool& pool, double cost_ns, int64_t scratch_bytes, void* scratch,
                       CallTimes* times)
    : scratch_(scratch), times_(times), began_(times == nullptr ? 0 : Nanoseconds()) {
  if (pool.num_threads <= 0 || pool.schedule == nullptr || cost_ns < kSerialCallNs) return;
  const int workers = static_cast<int>(
      std::min<double>(std::min(pool.num_threads, kMostWorkers), cost_ns / kWorkPerWorkerNs));
  TeamState* state = TeamStatePool::Get().Take();
  state->scratch_bytes = AlignUp(scratch_bytes);
  if (state->scratch.bytes() < state->scratch_bytes * workers) {
    state->scratch = SystemMemory().Allocate(state->scratch_bytes * workers);
  }
  state->references.store(1, std::memory_order_relaxed);
  if (state->scratch_bytes > 0 && state->scratch.data() == nullptr) {
    TeamStatePool::Get().Unreference(state);
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
  state->offers.store(0, std::memory_order_release);
  state_ = state;
  ReadyWorkers::Get().CallBegins();
  state->asks_host = ReadyWorkers::Get().PaysToAsk(cost_ns, pool.spin_ns);
  state->was_refused = !state->WakeSome(kWakeAtOnce);
}

ThreadTeam::~ThreadTeam() {
  if (times_ != nullptr) NoteCall();
  if (state_ == nullptr) return;
  state_->offers.store(kClosed, std::memory_order_release);
  ReadyWorkers::Get().CallEnds();
  TeamStatePool::Get().Unreference(state_);
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

void ThreadTeam::Run(const HostKernel& kernel, const LaunchConfig& config, void* const* buffers,
                     const int64_t* sizes) {
  if (state_ != nullptr && config.num_chunks > 1) {
    const bool present = state_->present.load(std::memory_order_relaxed) > 0;
    if (!present) state_->AskForThoseWhoLeft();
    if (config.cost_ns >= (present ? kShareWithPresentNs : kShareWithAbsentNs)) {
      return RunShared(kernel, config, buffers, sizes);
    }
  }
  if (config.num_chunks == 0) return;
  const Timed timed(times_ == nullptr ? nullptr : &times_->alone);
  const KernelFrame frame{buffers, sizes, scratch_};
  bool has_memory = true;
  if (config.num_chunks > 1 && GoesBack(kernel)) {
    for (int64_t c = config.num_chunks; c-- > 0;) {
      has_memory = RunChunks(kernel, frame, c, c + 1) && has_memory;
    }
  } else {
    has_memory = RunChunks(kernel, frame, 0, config.num_chunks);
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

void ThreadTeam::RunShared(const HostKernel& kernel, const LaunchConfig& config,
                           void* const* buffers, const int64_t* sizes) {
  const Timed timed(times_ == nullptr ? nullptr : &times_->shared);
  TeamState& state = *state_;
  const int64_t chunks = config.num_chunks;
  const double chunk_ns = config.cost_ns / static_cast<double>(chunks);
  const int threads = 1 + std::min(state.pool.num_threads, kMostWorkers);
  int64_t together = static_cast<int64_t>(std::ceil(kClaimNs / chunk_ns));
  together = std::min(together, std::max<int64_t>(1, chunks / (threads * kClaimsPerThread)));
  together = std::max(together, CeilDiv(chunks, kMostClaims));
  const int64_t claims = CeilDiv(chunks, together);

  state.done.store(0, std::memory_order_relaxed);
  const int segments = state.num_segments;
  for (int s = 0; s < segments; ++s) {
    Segment& segment = state.segments[s];
    segment.kernel = &kernel;
    segment.buffers = buffers;
    segment.sizes = sizes;
    segment.chunks = chunks;
    segment.chunks_per_claim = together;
    segment.ticket.store(Ticket(claims * s / segments, claims * (s + 1) / segments),
                         std::memory_order_release);
  }
  state.offers.store(++offers_, std::memory_order_release);

  uint32_t own = 0;
  for (int s = 0; s < segments; ++s) {
    Segment& segment = state.segments[s];
    const auto run = [&](int64_t claim) {
      if (!has_asked_again_) has_asked_again_ = state.AskAgainIfLate();
      state.AskForThoseWhoLeft();
      state.RunClaim(segment, claim, scratch_);
    };
    own += TeamState::RunSegment(segment, /*is_own=*/s == 0, run, [] { return true; });
  }
  const Timed waiting(times_ == nullptr ? nullptr : &times_->waiting);
  Backoff backoff;
  while (state.done.load(std::memory_order_acquire) + own != static_cast<uint32_t>(claims)) {
    backoff.Wait();
  }
}

}  // namespace tektite::runtime
