// A thread that runs closures in order: a stream of a device on the host.
//
//   SerialThread thread;
//   thread.Enqueue([&] { ... });
//   thread.Wait();                  // until all of it is done
//
// The destructor waits, too.  Enqueue and Wait may be called on any thread but this one.
#ifndef TEKTITE_TESTS_ISLAND_SERIAL_THREAD_H_
#define TEKTITE_TESTS_ISLAND_SERIAL_THREAD_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tektite::testing {

class SerialThread {
 public:
  using Work = std::function<void()>;
  SerialThread() : thread_([this] { Serve(); }) {}
  ~SerialThread();
  SerialThread(const SerialThread&) = delete;
  SerialThread& operator=(const SerialThread&) = delete;

  void Enqueue(Work work);
  void Wait();

 private:
  void Serve();

  std::mutex mutex_;  // guards the members below
  std::condition_variable more_, idle_;
  std::deque<Work> waiting_;  // null: the last
  bool runs_ = false;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace tektite::testing

#endif  // TEKTITE_TESTS_ISLAND_SERIAL_THREAD_H_
