#include "jit/runtime/threads/ready_workers.h"

#include <pthread.h>

#include <algorithm>

#include "jit/base/timing.h"
#include "jit/runtime/threads/backoff.h"
#include "jit/runtime/threads/crowd.h"

namespace tektite::runtime {
namespace {

// A longer pause counts as this.
constexpr int64_t kMostCountedNs = 4'000'000;
// Pauses vary: twice the mean, and some.
constexpr int64_t kMoreNs = 20'000;
// The cost of asking for a worker, on the thread that calls.
constexpr int64_t kAskNs = 10'000;
// Those who do not ask learn nothing: each of them takes so much off the time that was expected.
constexpr int64_t kForgetting = 64;
// A thread that sleeps takes 10 to 150 us to come.
constexpr int64_t kPromptNs = 200'000;
constexpr int64_t kLateNs = 1'000'000;
constexpr int kTurnsPerLook = 32;  // at the clock

// One long pause among many short ones is not to count for all of them.
void AddTo(std::atomic<int64_t>& mean_ns, int64_t ns) {
  const int64_t mean = mean_ns.load(std::memory_order_relaxed);
  const int64_t counted = std::min({ns, 2 * mean + kMoreNs, kMostCountedNs});
  mean_ns.store(mean + (counted - mean) / 4, std::memory_order_relaxed);
}

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
    Get().threads_.store(0, std::memory_order_relaxed);
  });
}

void ReadyWorkers::CallBegins() {
  const bool alone = calls_.fetch_add(1, std::memory_order_relaxed) == 0;
  AddTo(pause_ns_, alone ? Nanoseconds() - last_end_.load(std::memory_order_relaxed) : 0);
}

void ReadyWorkers::CallEnds() {
  last_end_.store(Nanoseconds(), std::memory_order_relaxed);
  calls_.fetch_sub(1, std::memory_order_relaxed);
}

bool ReadyWorkers::PaysToAsk(double cost_ns, int64_t most_ns) {
  if (pause_ns_.load(std::memory_order_relaxed) <= most_ns) return true;
  const int64_t arrival = arrival_ns_.load(std::memory_order_relaxed);
  if (cost_ns > static_cast<double>(arrival + kAskNs)) return true;
  // In a crowd a call takes longer than its cost, and a worker is as likely to have a core as the
  // caller.
  if (cost_ns > kPromptNs && arrival > kLateNs) {
    const int64_t now = Nanoseconds();
    NoteLateness(now);
    if (IsCrowded(now)) return true;
  }
  arrival_ns_.store(arrival - arrival / kForgetting, std::memory_order_relaxed);
  return false;
}

void ReadyWorkers::Arrived(int64_t ns) {
  AddTo(arrival_ns_, ns);
  if (ns > kLateNs) NoteLateness(Nanoseconds());
  const int prompt = ns > kPromptNs ? 0 : std::min(prompt_arrivals() + 1, kMostPrompt);
  prompt_arrivals_.store(prompt, std::memory_order_relaxed);
}

bool ReadyWorkers::TakeThread(int most) {
  int seen = threads_.load(std::memory_order_relaxed);
  do {
    if (seen >= most) return false;
  } while (!threads_.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed));
  return true;
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

ReadyWorkers::Seat* ReadyWorkers::TakeSeat() {
  for (Seat& seat : seats_) {
    uintptr_t seen = kFree;
    if (seat.word.compare_exchange_strong(seen, kWaiting, std::memory_order_relaxed)) return &seat;
  }
  return nullptr;
}

void* ReadyWorkers::Wait(int64_t most_ns, int64_t latest) {
  const int64_t mean = pause_ns_.load(std::memory_order_relaxed);
  if (most_ns <= 0 || mean > most_ns) return nullptr;
  const int64_t now = Nanoseconds();
  if (now >= latest) return nullptr;
  Seat* const seat = TakeSeat();
  if (seat == nullptr) return nullptr;
  const int64_t until = std::min(now + 2 * mean + kMoreNs, latest);
  Backoff backoff;
  for (;;) {
    for (int i = 0; i < kTurnsPerLook; ++i) {
      if (seat->word.load(std::memory_order_relaxed) != kWaiting) break;
      backoff.Wait();
    }
    uintptr_t seen = seat->word.load(std::memory_order_acquire);
    if (seen == kWaiting) {
      if (Nanoseconds() < until) continue;
      if (seat->word.compare_exchange_strong(seen, kFree, std::memory_order_acq_rel)) {
        return nullptr;
      }
    }
    seat->word.store(kFree, std::memory_order_release);
    return reinterpret_cast<void*>(seen);
  }
}

}  // namespace tektite::runtime
