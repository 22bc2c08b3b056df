// Threads that compile behind the host's back, for --compile=async.
//
//   Background::Get().Submit([cluster] { ... });
//   Background::Get().Submit([step] { ... }, Background::Priority::kAsCallers);
//
// Most tasks run below the priority of the threads that call, so that requests do not wait for the
// compiler.  A training step has no requests: what counts is when its code is there, and a task for
// it gets an equal share of a core that a step fills, instead of three tenths of it.
//
// A thread starts with the first task, one per process, and one more with the first task of the
// other priority; one task runs at a time.  The queue is bounded: a task that finds it full is
// refused and may be submitted again.
//
// Long tasks call Background::Checkpoint() between steps, wherever they hold no lock.  It is what
// makes two things quick and safe:
// - The process ends: tasks get Cancelled from Checkpoint, the threads are joined before the
//   destructors of static objects run: all of them where the main thread called Get() first and
//   ends the process, those from before the first task otherwise.
// - The process forks: running tasks pause, so that no lock is held by a thread the child does not
//   have.  The child begins with threads of its own at its first Submit or wait, and with the
//   tasks that were waiting or running.  When a task does not pause within kForkPatience, the child
//   compiles nothing: its Submit refuses.
//
// Limits: a task must not Submit from a Checkpoint or wait for another task.
#ifndef TEKTITE_JIT_COMPILER_BACKGROUND_H_
#define TEKTITE_JIT_COMPILER_BACKGROUND_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"

namespace tektite::compiler {

class Background {
 public:
  static Background& Get();

  enum class Priority : uint8_t { kBelowCallers, kAsCallers };
  // False when the queue is full, the process ends, the system has no thread left, or it is a child
  // that must not compile.
  bool Submit(std::function<void()> task, Priority priority = Priority::kBelowCallers);
  // Waits until all that was submitted is done.
  void WaitUntilIdle();
  // Drops what waits, waits for what runs, and takes no more: before the process ends, or at its
  // end.
  void Stop();
  // OK at once for most callers: threads that run no task, and tasks that no thread waits for.
  // Cancelled when the process ends.
  static absl::Status Checkpoint();

  static constexpr size_t kMostTasks = 256;
  static constexpr std::chrono::milliseconds kForkPatience{500};

 private:
  struct State;
  struct Task;

  Background();
  void StartThreads(State& state);
  void StartThreads(State& state, Priority priority);
  void Loop(State& state, Priority priority);
  void BeforeFork();
  void InParent();
  void InChild();

  // Replaced in a child, whose copy of the parent's threads, mutex and waiters means nothing.
  std::atomic<State*> state_;
};

}  // namespace tektite::compiler

#endif  // TEKTITE_JIT_COMPILER_BACKGROUND_H_
