// One thread of low priority that compiles behind the host's back, for --compile=async.
//
//   Background::Get().Submit([cluster] { ... });
//
// Started with the first task, one per process.  The queue is bounded: a task that finds it full is
// refused and may be submitted again.  At the process's exit the thread finishes the task at hand
// and ends, before the destructors of static objects that it may use.
#ifndef TEKTITE_JIT_COMPILER_BACKGROUND_H_
#define TEKTITE_JIT_COMPILER_BACKGROUND_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace tektite::compiler {

class Background {
 public:
  static Background& Get();

  // False when the queue is full or the process ends.
  bool Submit(std::function<void()> task);
  // Waits until all that was submitted is done.
  void WaitUntilIdle();

  static constexpr size_t kMostTasks = 256;

 private:
  Background() = default;
  void Loop();
  void Stop();

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false;
  bool stopping_ = false;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_BACKGROUND_H_
