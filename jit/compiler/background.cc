#include "jit/compiler/background.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace tektite::compiler {
namespace {

constexpr int kNiceness = 10;

// Requests come first.  Idle scheduling would starve on a busy machine and never finish.
void LowerPriority() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNiceness);
}

}  // namespace

Background& Background::Get() {
  static Background& background = *new Background;
  return background;
}

bool Background::Submit(std::function<void()> task) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stopping_ || tasks_.size() >= kMostTasks) return false;
  if (thread_ == nullptr) {
    thread_ = std::make_unique<std::thread>([this] { Loop(); });
    std::atexit([] { Get().Stop(); });
  }
  tasks_.push_back(std::move(task));
  changed_.notify_all();
  return true;
}

void Background::Loop() {
  LowerPriority();
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    task();
    task = nullptr;  // what it holds is let go of before the task counts as done
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Background::WaitUntilIdle() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return tasks_.empty() && !busy_; });
}

void Background::Stop() {
  std::deque<std::function<void()>> dropped;  // destroyed without the lock
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    dropped.swap(tasks_);
  }
  changed_.notify_all();
  thread_->join();
}

}  // namespace tektite::compiler
