#include "runtime_hooks/tensorflow/hook/run/closure_queue.h"

namespace tektite::tf_hook {

void ClosureQueue::Add(Closure closure) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(closure));
    if (is_idle_) {
      is_idle_ = false;
      changed_.notify_one();
      return;
    }
  }
  others_([self = shared_from_this()] { self->RunOne(); });
}

void ClosureQueue::Finish() {
  std::lock_guard<std::mutex> lock(mutex_);
  is_finished_ = true;
  changed_.notify_one();
}

void ClosureQueue::RunOne() {
  Closure closure;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_.empty()) return;
    closure = std::move(waiting_.front());
    waiting_.pop_front();
  }
  closure();
}

void ClosureQueue::RunUntilFinished() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    if (!waiting_.empty()) {
      is_idle_ = false;
      lock.unlock();
      RunOne();
      lock.lock();
      continue;
    }
    if (is_finished_) return;
    is_idle_ = true;
    changed_.wait(lock, [&] { return is_finished_ || !waiting_.empty(); });
  }
}

}  // namespace tektite::tf_hook
