// Closures of an executor for whose end a thread waits, run by the waiting thread and by a pool.
//
// Why: the thread that waits may be the only one of its pool, or all of them may wait, so a waiting
// thread works.
//
//   auto queue = std::make_shared<ClosureQueue>(runner_of_the_pool);
//   ... start something that passes its closures to queue->Add and in the end calls queue->Finish
//   ... queue->RunUntilFinished();
//
// Thread-safe.  Limits: waits once; closures that are added after Finish may not run.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_CLOSURE_QUEUE_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_CLOSURE_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace tektite::tf_hook {

class ClosureQueue : public std::enable_shared_from_this<ClosureQueue> {
 public:
  using Closure = std::function<void()>;
  using Runner = std::function<void(Closure)>;

  // `others` runs closures where the waiting thread has something to do already.
  explicit ClosureQueue(Runner others) : others_(std::move(others)) {}

  void Add(Closure closure);
  void Finish();
  void RunUntilFinished();

 private:
  void RunOne();

  const Runner others_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<Closure> waiting_;
  bool is_idle_ = true;  // the waiting thread has nothing to do, or is about to come
  bool is_finished_ = false;
};

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_RUN_CLOSURE_QUEUE_H_
