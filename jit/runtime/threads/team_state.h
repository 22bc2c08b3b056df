// The state that the threads of one call share: the offered kernel, its claims, and the workers
// that are there.
//
//   TeamState* state = TeamStatePool::Get().Take();
//   state->WakeSome(kWakeAtOnce);          // workers come to WorkerMain
//   state->offers.store(++offers);         // a kernel is there to claim
//   TeamStatePool::Get().Unreference(state);
//
// thread_team.h says how a team works; this is the side of the workers, thread_team.cc that of the
// caller.  Private to jit/runtime.
#ifndef TEKTITE_JIT_RUNTIME_THREADS_TEAM_STATE_H_
#define TEKTITE_JIT_RUNTIME_THREADS_TEAM_STATE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "jit/backend/stream.h"
#include "jit/base/timing.h"

namespace tektite::runtime {

using backend::CallTimes;
using backend::HostKernel;
using backend::HostPool;
using backend::KernelFrame;

inline constexpr int kMostWorkers = 255;
// Workers that wake up wake more workers, so that the caller need not wake a large pool alone.
inline constexpr int kWakeAtOnce = 2;

// A ticket: what of a segment is handed out, in one word, so that a claim is one atomic addition.
inline constexpr int kLimitShift = 32;
inline constexpr int64_t kMostClaims = int64_t{1} << 30;
inline uint64_t Ticket(int64_t begin, int64_t end) {
  return static_cast<uint64_t>(end) << kLimitShift | static_cast<uint64_t>(begin);
}
inline int64_t Next(uint64_t ticket) { return static_cast<int64_t>(ticket & 0xffffffffu); }
inline bool HasWork(uint64_t ticket) { return (ticket & 0xffffffffu) < ticket >> kLimitShift; }

// More threads than this share the segments.
inline constexpr int kMostSegments = 64;
inline constexpr uint64_t kClosed = ~uint64_t{0};

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
bool RunChunks(const HostKernel& kernel, const KernelFrame& frame, int64_t begin, int64_t end);

// How long a worker stays away from the host's queue, for each thread of the pool: 1 ms on two
// threads.  The host's own closures wait that long, where the host alone would have run them at
// once.  A caller needs up to 8 us to ask for a worker again, so that asking for all of a pool
// takes 1.6 % of its time at most, however large the pool is.
inline constexpr int64_t kSliceNsPerThread = 500'000;
// Where workers came at once the last times, the pool has threads to spare, and none of the host's
// closures wait for one: each such arrival in a row doubles the slice, up to this.  Slices of 1 ms
// alone cost long calls on two threads 5 % (BERT-base 67.4 ms, 64.6 with slices of 40 ms): a worker
// that leaves is missed until the caller's next claim, and the request wakes another thread, too.
inline constexpr int64_t kMostSliceNs = 4'000'000;
// The time a worker may stay.  Between kernels and between calls it leaves when that is over,
// since leaving then costs no more than asking again (some 1 us: the host's thread still spins);
// inside a kernel, after the claim at which it has stayed twice as long.
struct TimeSlice {
  // `doublings`: ReadyWorkers::prompt_arrivals().
  TimeSlice(const HostPool& pool, int doublings)
      : begin(Nanoseconds()), end(begin + Length(pool, doublings)), latest_end(2 * end - begin) {}
  static int64_t Length(const HostPool& pool, int doublings) {
    const int64_t least = kSliceNsPerThread * (1 + std::min(pool.num_threads, kMostWorkers));
    return std::clamp(least << doublings, least, std::max(least, kMostSliceNs));
  }
  int64_t begin, end, latest_end;
};

// Which parts of the workers' scratch are free.
class ScratchParts {
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

// A part of a kernel's claims, with all that a claim needs: a worker waits for one line of another
// core's cache and not for one after the other.  (Two threads of a Xeon, a kernel of 4 chunks of
// 1.8 us: 4.62 us became 4.46 with that and the clock read after the last claim is told; 64 steps
// of an LSTM, unrolled, 0.98.)
struct alignas(64) Segment {
  std::atomic<uint64_t> ticket{0};
  // The kernel being shared: written while no claim is out, read under a claim.
  const HostKernel* kernel = nullptr;
  void* const* buffers = nullptr;
  const int64_t* sizes = nullptr;
  int64_t chunks = 0;  // of the whole kernel
  int64_t chunks_per_claim = 1;
};
static_assert(sizeof(Segment) == 64);

// Each group of members that different threads write stands on cache lines of its own.
struct TeamState {
  alignas(64) std::atomic<uint64_t> offers{kClosed};  // kernels shared out so far
  alignas(64) std::atomic<uint32_t> done{0};          // claims that workers have finished
  // A kernel's claims in order, a part for each thread.
  std::array<Segment, kMostSegments> segments;
  alignas(64) std::atomic<int> references{0};  // caller and scheduled workers
  std::atomic<int> arrived{0};                 // since the call began
  std::atomic<int> present{0};
  std::atomic<int> to_wake{0};
  ScratchParts parts;                // of the scratch
  std::atomic<int64_t> asked_at{0};  // the host; 0: not yet
  int workers = 0;                   // that there is scratch for
  int num_segments = 1;
  bool asks_host = true;     // and not only workers that wait for a call
  bool was_refused = false;  // the caller's: WakeSome's last answer to it
  HostPool pool;
  backend::Block scratch;  // one part for each worker
  int64_t scratch_bytes = 0;
  std::atomic<bool> lacks_memory{false};
  CallTimes* times = nullptr;  // read under a claim
  std::atomic<bool> is_timed{false};
  std::atomic<int64_t> first_arrival{0};  // when it was; 0: not yet

  void RunClaim(const Segment& part, int64_t claim, void* worker_scratch) {
    const int64_t begin = claim * part.chunks_per_claim;
    const int64_t end = std::min(begin + part.chunks_per_claim, part.chunks);
    if (!RunChunks(*part.kernel, {part.buffers, part.sizes, worker_scratch}, begin, end)) {
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
  // Claims the rest of a segment: calls `run` with one claim after the other, as long as
  // `may_go_on` returns true before each but the first.  Returns how many there were.  `is_own`: it
  // claims without looking first, which would bring the line of a new ticket twice, to read and to
  // write.
  template <typename RunOne, typename MayGoOn>
  static uint32_t RunSegment(Segment& segment, bool is_own, const RunOne& run,
                             const MayGoOn& may_go_on) {
    uint32_t finished = 0;
    bool has_work = is_own || HasWork(segment.ticket.load(std::memory_order_relaxed));
    while (has_work) {
      const uint64_t ticket = segment.ticket.fetch_add(1, std::memory_order_acq_rel);
      if (!HasWork(ticket)) break;
      run(Next(ticket));
      ++finished;
      has_work = HasWork(segment.ticket.load(std::memory_order_relaxed)) && may_go_on();
    }
    return finished;
  }
  // False: the time was up before the call's end.
  bool Work(int own_segment, void* worker_scratch, const TimeSlice& slice);
  bool Help(const TimeSlice& slice);  // ends one reference
  static void WorkerMain(void* scheduled);
  static void HelpCalls(TeamState* state, uintptr_t asked_by);
};

// States that no thread refers to.  Never destroyed: workers may outlive everything else.
class TeamStatePool {
 public:
  static TeamStatePool& Get() {
    static TeamStatePool& pool = *new TeamStatePool;
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

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_THREADS_TEAM_STATE_H_
