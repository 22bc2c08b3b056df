#include "jit/runtime/ready_workers.h"

#include <pthread.h>

#include <algorithm>

#include "jit/base/timing.h"
#include "jit/runtime/backoff.h"

namespace tektite::runtime {
namespace {

// A pause longer than that counts as one of that length: short ones outweigh it after a while.
constexpr int64_t kMostCountedNs = 4'000'000;
// Pauses vary: twice the mean, and some.
constexpr int64_t kMoreNs = 20'000;
constexpr int kTurnsPerLook = 32;  // at the clock

}  // namespace

ReadyWorkers& ReadyWorkers::Get() {
  static ReadyWorkers& workers = *new ReadyWorkers;  // workers may outlive everything else
  return workers;
}

ReadyWorkers::ReadyWorkers() : pause_ns_(kMostCountedNs) {
  // A forked child has none of the threads that waited here.
  pthread_atfork(nullptr, nullptr, [] {
    for (Seat& seat : Get().seats_) seat.word.store(kFree, std::memory_order_relaxed);
    Get().calls_.store(0, std::memory_order_relaxed);
  });
}

void ReadyWorkers::CallBegins() {
  const int64_t mean = pause_ns_.load(std::memory_order_relaxed);
  int64_t pause = 0;  // another call is running
  if (calls_.fetch_add(1, std::memory_order_relaxed) == 0) {
    pause = std::min({Nanoseconds() - last_end_.load(std::memory_order_relaxed), 2 * mean + kMoreNs,
                      kMostCountedNs});
  }
  pause_ns_.store(mean + (pause - mean) / 4, std::memory_order_relaxed);
}

void ReadyWorkers::CallEnds() {
  last_end_.store(Nanoseconds(), std::memory_order_relaxed);
  calls_.fetch_sub(1, std::memory_order_relaxed);
}

bool ReadyWorkers::Give(void* work) {
  for (Seat& seat : seats_) {
    uintptr_t seen = kWaiting;
    if (seat.word.load(std::memory_order_relaxed) == kWaiting &&
        seat.word.compare_exchange_strong(seen, reinterpret_cast<uintptr_t>(work),
                                          std::memory_order_acq_rel)) {
      return true;
    }
  }
  return false;
}

void* ReadyWorkers::Wait(int64_t most_ns) {
  const int64_t mean = pause_ns_.load(std::memory_order_relaxed);
  if (most_ns <= 0 || mean > most_ns) return nullptr;
  Seat* seat = nullptr;
  for (Seat& s : seats_) {
    uintptr_t seen = kFree;
    if (s.word.compare_exchange_strong(seen, kWaiting, std::memory_order_relaxed)) {
      seat = &s;
      break;
    }
  }
  if (seat == nullptr) return nullptr;
  const int64_t until = Nanoseconds() + 2 * mean + kMoreNs;
  Backoff backoff;
  for (;;) {
    for (int i = 0; i < kTurnsPerLook; ++i) {
      if (seat->word.load(std::memory_order_relaxed) != kWaiting) break;
      backoff.Wait();
    }
    uintptr_t seen = seat->word.load(std::memory_order_acquire);
    if (seen == kWaiting) {
      if (Nanoseconds() < until) continue;
      if (seat->word.compare_exchange_strong(seen, kFree, std::memory_order_acq_rel))
        return nullptr;
    }
    seat->word.store(kFree, std::memory_order_release);
    return reinterpret_cast<void*>(seen);
  }
}

}  // namespace tektite::runtime
