// Two roles of a block take turns: one runs until it has to wait for the other.
//
//   Turns turns;
//   turns.Begin(role);                        // returns when it is the role's turn
//   while (!ready()) if (!turns.Pass(role, events())) return Fault("waits for ever");
//   turns.End(role, ok);
//
// Each role runs on a thread of its own, never at the same time as the other.
#ifndef TEKTITE_TESTS_GPU_INTERPRETER_TURNS_H_
#define TEKTITE_TESTS_GPU_INTERPRETER_TURNS_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tektite::gpu {

class Turns {
 public:
  void Begin(int role) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return turn_ == role; });
  }

  // Returns when it is the role's turn again; false where waiting is in vain: `events`, what has
  // happened so far, is what it was, and the other role waits as well or has ended.
  template <typename Events>
  bool Pass(int role, const Events& events) {
    const int other = 1 - role;
    std::unique_lock<std::mutex> lock(mutex_);
    if (has_ended_[other]) return false;
    const uint64_t before = events();
    turn_ = other;
    changed_.notify_all();
    changed_.wait(lock, [&] { return turn_ == role; });
    return events() != before;
  }

  void End(int role, bool well) {
    std::unique_lock<std::mutex> lock(mutex_);
    has_ended_[role] = true;
    if (!well && failed_ < 0) failed_ = role;
    turn_ = 1 - role;
    changed_.notify_all();
  }

  // The role that failed first; -1: none.
  int failed() const { return failed_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int turn_ = 0, failed_ = -1;
  bool has_ended_[2] = {};
};

}  // namespace tektite::gpu

#endif  // TEKTITE_TESTS_GPU_INTERPRETER_TURNS_H_
