#include "jit/compiler/background.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "jit/base/at_exit.h"
#include "jit/base/catch_all.h"
#include "jit/base/log.h"

namespace tektite::compiler {
namespace {

// Requests come first: on a CPU that they fill, a thread of this niceness gets 0.41 of what one of
// theirs gets.  Less would leave a busy server on its slow kernels for minutes (a BERT needs some
// two seconds of compiling), and idle scheduling would do so for ever.  The first 300 calls of a
// MobileNetV2 on one CPU take 0.85 to 0.98 of stock's time, single calls 1.6 of it meanwhile
// (niceness 5: 0.9 to 1.1, and 1.4; niceness 3: 0.75 to 0.89, and 1.6 to 1.9).
constexpr int kNiceness = 4;

// For `top -H` and debuggers; at most 15 characters.
constexpr char kThreadName[] = "tektite-compile";

void SetPriority(Background::Priority priority) {
  if (priority == Background::Priority::kBelowCallers) {
    const auto thread = static_cast<id_t>(syscall(SYS_gettid));
    setpriority(PRIO_PROCESS, thread, std::min(getpriority(PRIO_PROCESS, thread) + kNiceness, 19));
  }
  // Longer turns, and no preemption of another thread when it wakes.
  sched_param parameters = {};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &parameters);
}

}  // namespace

struct Background::Task {
  std::function<void()> run;
  Priority priority = Priority::kBelowCallers;
};

struct Background::State {
  std::mutex mutex;  // guards the members below
  std::condition_variable changed;
  std::deque<Task> waiting;
  std::list<Task> running;
  size_t paused = 0;     // of those that run
  size_t finishing = 0;  // tasks that are done, but still hold their resources
  bool stopping = false;
  bool forking = false;
  bool refuses = false;  // a child of a process that could not be brought to rest
  std::vector<std::thread> threads;
  std::map<Priority, size_t> num_threads;  // a thread keeps its priority: only root may raise one
  // Whether Checkpoint has anything to do.
  std::atomic<bool> interrupted{false};

  bool IsIdle() const { return waiting.empty() && running.empty() && finishing == 0; }
  bool IsAtRest() const { return paused == running.size() && finishing == 0; }
  std::deque<Task>::iterator FirstOf(Priority priority) {
    return std::find_if(waiting.begin(), waiting.end(),
                        [&](const Task& task) { return task.priority == priority; });
  }
  bool MayRun(Priority priority) {
    return !forking && running.empty() && FirstOf(priority) != waiting.end();
  }
};

namespace {

// The state whose task this thread runs.
thread_local void* running_for = nullptr;

}  // namespace

Background::Background() : state_(new State) {
  pthread_atfork([] { Get().BeforeFork(); }, [] { Get().InParent(); }, [] { Get().InChild(); });
  RunFirstAtExit([] { Get().Stop(); });
}

Background& Background::Get() {
  static Background& background = *new Background;
  return background;
}

bool Background::Submit(std::function<void()> task, Priority priority) {
  State& state = *state_.load();
  Task refused;  // destroyed without the lock
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.stopping || state.refuses || state.waiting.size() >= kMostTasks) return false;
  state.waiting.push_back({std::move(task), priority});
  StartThreads(state);
  if (state.threads.empty()) {
    refused = std::move(state.waiting.back());
    state.waiting.pop_back();
    return false;
  }
  state.changed.notify_all();
  return true;
}

// The mutex is held.  Where the system has no more threads, those that are there do the work.
void Background::StartThreads(State& state) {
  constexpr Priority kBelow = Priority::kBelowCallers, kAs = Priority::kAsCallers;
  StartThreads(state, kBelow);
  StartThreads(state, kAs);
  for (const auto& [priority, other] : {std::pair(kBelow, kAs), std::pair(kAs, kBelow)}) {
    if (state.num_threads[priority] > 0 || state.num_threads[other] == 0) continue;
    for (Task& task : state.waiting) task.priority = other;
  }
}

void Background::StartThreads(State& state, Priority priority) {
  const auto is_of_it = [&](const Task& task) { return task.priority == priority; };
  if (state.num_threads[priority] > 0 ||
      std::none_of(state.waiting.begin(), state.waiting.end(), is_of_it)) {
    return;
  }
  if (state.threads.empty()) {
    // Once a process: a child has inherited the parent's.
    static std::once_flag registered;
    std::call_once(registered, [] { RunAtExit([] { Get().Stop(); }); });
  }
  const absl::Status started = CatchAll([&] {
    state.threads.emplace_back([this, &state, priority] { Loop(state, priority); });
    return absl::OkStatus();
  });
  if (started.ok()) ++state.num_threads[priority];
}

void Background::Loop(State& state, Priority priority) {
  SetPriority(priority);
  pthread_setname_np(pthread_self(), kThreadName);
  running_for = &state;
  std::unique_lock<std::mutex> lock(state.mutex);
  while (true) {
    state.changed.wait(lock, [&] { return state.stopping || state.MayRun(priority); });
    if (state.stopping) return;
    // A copy stays with the state, for a child to begin anew.
    const auto first = state.FirstOf(priority);
    const auto task = state.running.insert(state.running.end(), std::move(*first));
    state.waiting.erase(first);
    lock.unlock();
    const absl::Status ended = CatchAll([&] {
      task->run();
      return absl::OkStatus();
    });
    if (!ended.ok()) Warn("work in the background failed: ", ended.message());
    std::list<Task> done;
    lock.lock();
    done.splice(done.end(), state.running, task);
    ++state.finishing;
    lock.unlock();
    done.clear();
    lock.lock();
    --state.finishing;
    state.changed.notify_all();
  }
}

absl::Status Background::Checkpoint() {
  auto* const state = static_cast<State*>(running_for);
  if (state == nullptr || !state->interrupted.load(std::memory_order_relaxed)) {
    return absl::OkStatus();
  }
  std::unique_lock<std::mutex> lock(state->mutex);
  ++state->paused;
  state->changed.notify_all();
  state->changed.wait(lock, [&] { return !state->forking; });
  --state->paused;
  return state->stopping ? absl::CancelledError("the process ends") : absl::OkStatus();
}

void Background::WaitUntilIdle() {
  State& state = *state_.load();
  std::unique_lock<std::mutex> lock(state.mutex);
  if (state.stopping) return;
  StartThreads(state);  // a child has tasks and no threads
  if (state.threads.empty()) return;
  state.changed.wait(lock, [&] { return state.IsIdle(); });
}

void Background::Stop() {
  State& state = *state_.load();
  std::deque<Task> dropped;  // destroyed without the lock
  std::vector<std::thread> threads;
  {
    std::lock_guard<std::mutex> lock(state.mutex);
    state.stopping = true;
    state.interrupted = true;
    dropped.swap(state.waiting);
    threads.swap(state.threads);
  }
  state.changed.notify_all();
  for (std::thread& thread : threads) {
    // A library that a task is in may end the process, on the task's own thread.
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

// Leaves the mutex locked.
void Background::BeforeFork() {
  State& state = *state_.load();
  state.mutex.lock();
  std::unique_lock<std::mutex> lock(state.mutex, std::adopt_lock);
  state.forking = true;
  state.interrupted = true;
  state.changed.wait_for(lock, kForkPatience, [&] { return state.IsAtRest(); });
  lock.release();
}

void Background::InParent() {
  State& state = *state_.load();
  state.forking = false;
  state.interrupted = state.stopping;
  state.mutex.unlock();
  state.changed.notify_all();
}

void Background::InChild() {
  // The parent's state is left as it is: its threads are not here, and its mutex and its waiters
  // are in the middle of something.
  State& inherited = *state_.load();
  auto* const state = new State;
  state->stopping = inherited.stopping;
  state->refuses = inherited.refuses || !inherited.IsAtRest();
  if (!state->refuses) {
    state->waiting.assign(inherited.running.begin(), inherited.running.end());
    state->waiting.insert(state->waiting.end(), inherited.waiting.begin(), inherited.waiting.end());
  }
  running_for = nullptr;
  state_.store(state);
}

}  // namespace tektite::compiler
