// Workers that have finished a call and look for the next one for a moment, before they go back to
// the host.
//
// Waking a thread of the host's pool takes 70 to 150 us where its core sleeps, as in most virtual
// machines: a call of 200 us would be half over.  So where calls follow each other closely, a
// worker spins between them.  It yields to any thread that wants the core, and how long it stays
// goes by the pauses between the last calls: not at all where calls are rare.  It also has a latest
// time, however close calls are: the thread is the host's, whose closures wait for it
// (thread_team.h).
//
// How long a worker takes to come is measured as well, from the first call on: a call that would be
// over by then, and rare, does not ask for one.
//
//   if (void* work = ReadyWorkers::Get().Wait(most_ns, latest)) ... the next call's team ...
//
// Limits: kSeats workers wait at once; further ones return to the host.
#ifndef TEKTITE_JIT_RUNTIME_THREADS_READY_WORKERS_H_
#define TEKTITE_JIT_RUNTIME_THREADS_READY_WORKERS_H_

#include <array>
#include <atomic>
#include <cstdint>

namespace tektite::runtime {

class ReadyWorkers {
 public:
  // Of the process.
  static ReadyWorkers& Get();

  // Around each call that wants workers, on the calling thread.
  void CallBegins();
  void CallEnds();

  // A call of `cost_ns` should ask the host for workers: one will come before its end, or wait for
  // the next call.  `most_ns` as below.
  bool PaysToAsk(double cost_ns, int64_t most_ns);
  // A worker of the host came so long after it was asked for.
  void Arrived(int64_t ns);
  // How many workers in a row, up to kMostPrompt, came as fast as a thread that nothing else keeps.
  int prompt_arrivals() const { return prompt_arrivals_.load(std::memory_order_relaxed); }
  static constexpr int kMostPrompt = 16;

  // Around the time from a request for one of the host's threads to the thread's return.  False if
  // `most` are asked for or here already: the one that is between two calls right now will do, and
  // a request that came too late for its call would only keep a thread from the host.  Counted for
  // the process, not for each pool: a pool that is stuck makes the calls of another ask late.
  bool TakeThread(int most);
  void ReturnThread() { threads_.fetch_sub(1, std::memory_order_relaxed); }

  // Hands `work` to a worker that waits; false if there is none.
  bool Give(void* work);
  // The work given to this thread; null when nothing came in time, or by `latest` (Nanoseconds()),
  // when the host wants its thread back.  `most_ns`: pauses up to which waiting is worth the power.
  void* Wait(int64_t most_ns, int64_t latest);

 private:
  struct alignas(64) Seat {
    std::atomic<uintptr_t> word{kFree};
  };
  static constexpr uintptr_t kFree = 0, kWaiting = 1;  // anything else: work
  static constexpr int kSeats = 16;

  ReadyWorkers();
  Seat* TakeSeat();  // null where all are taken

  std::array<Seat, kSeats> seats_;
  std::atomic<int> calls_{0};    // in progress
  std::atomic<int> threads_{0};  // of the host: asked for or here
  std::atomic<int64_t> last_end_{0};
  // Moving averages.
  std::atomic<int64_t> pause_ns_;
  std::atomic<int64_t> arrival_ns_{0};
  std::atomic<int> prompt_arrivals_{0};
};

}  // namespace tektite::runtime

#endif  // TEKTITE_JIT_RUNTIME_THREADS_READY_WORKERS_H_
