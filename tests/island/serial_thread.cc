#include "tests/island/serial_thread.h"

#include <utility>

namespace tektite::testing {

SerialThread::~SerialThread() {
  Enqueue(nullptr);
  thread_.join();
}

void SerialThread::Enqueue(Work work) {
  std::lock_guard<std::mutex> lock(mutex_);
  waiting_.push_back(std::move(work));
  more_.notify_one();
}

void SerialThread::Wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  idle_.wait(lock, [&] { return waiting_.empty() && !runs_; });
}

void SerialThread::Serve() {
  while (true) {
    Work work;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      runs_ = false;
      if (waiting_.empty()) idle_.notify_all();
      more_.wait(lock, [&] { return !waiting_.empty(); });
      work = std::move(waiting_.front());
      waiting_.pop_front();
      runs_ = true;
    }
    if (work == nullptr) return;
    work();
  }
}

}  // namespace tektite::testing
