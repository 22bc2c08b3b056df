// Work in the background that its owner may abandon at any time without waiting for it, and what
// waits for such work instead.
//
// Why: a destructor of TensorFlow's may run with Python's lock held, while the work runs code that
// wants that lock.  So the owner says that it is gone, and whichever of the two is last releases
// what the work has made.
//
//   if (!work.Begin()) return;               // the thread that works
//   ... make something ...
//   if (!work.End()) ... release it ...      // the owner is gone
//
//   if (work.Abandon()) ... release it ...   // the owner, once: the thread never will
//
// What the work needs must stay until then: its holder counts works in a WorkCount and waits before
// it goes.
//
// Example(WorkCount& count):
//   count.Add();
//   std::thread worker([&count] { count.Remove(); });
//   count.WaitUntilNone();
//   worker.join();
//
// Thread-safe.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_ABANDONABLE_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_ABANDONABLE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tektite::tf_hook {

class Abandonable {
 public:
  bool Begin() { return Move(State::kWaiting, State::kWorking); }
  bool End() { return Move(State::kWorking, State::kDone); }
  // False where the thread is at work: it learns of it from End.
  bool Abandon() { return state_.exchange(State::kAbandoned) != State::kWorking; }

  bool is_done() const { return state_.load(std::memory_order_acquire) == State::kDone; }
  bool is_abandoned() const { return state_.load(std::memory_order_acquire) == State::kAbandoned; }

 private:
  enum class State : uint8_t { kWaiting, kWorking, kDone, kAbandoned };

  bool Move(State from, State to) { return state_.compare_exchange_strong(from, to); }

  std::atomic<State> state_{State::kWaiting};
};

class WorkCount {
 public:
  void Add() {
    std::lock_guard<std::mutex> lock(mutex_);
    ++works_;
  }
  void Remove() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (--works_ == 0) changed_.notify_all();
  }
  void WaitUntilNone() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return works_ == 0; });
  }

 private:
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  int works_ = 0;
};

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_ABANDONABLE_H_
