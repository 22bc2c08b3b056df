// Prints how many nanoseconds a cache line takes from one CPU to another: the first two that this
// process may use.
//
//   build/bin/core_distance        27.3
//
// A virtual machine's CPUs may move between cores of the host that share a level-3 cache and cores
// that do not: 30 and 160 ns on an AMD EPYC, for seconds at a time.  Kernels on two threads then
// take up to 1.5 times as long, whatever is measured.  Exit code 1 where there is one CPU only, or
// no thread may be bound to one.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

namespace {

constexpr int kRounds = 10;        // the least counts: other programs only add to it
constexpr int kTransfers = 2'000;  // in each direction

using Clock = std::chrono::steady_clock;

// The n-th CPU that this process may use; -1: there is none.
int AllowedCpu(int n) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed) && n-- == 0) return cpu;
  }
  return -1;
}

bool BindTo(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
}

// The cache line that both threads write in turns: odd values are for the other thread to answer.
alignas(128) std::atomic<int> line{0};

void Answer(int cpu, std::atomic<bool>& is_bound) {
  is_bound = BindTo(cpu);
  for (int i = 0; i < kRounds * kTransfers; ++i) {
    while (line.load(std::memory_order_acquire) != 2 * i + 1) {
    }
    line.store(2 * i + 2, std::memory_order_release);
  }
}

double OneRound(int round) {
  const auto began = Clock::now();
  for (int i = round * kTransfers; i < (round + 1) * kTransfers; ++i) {
    line.store(2 * i + 1, std::memory_order_release);
    while (line.load(std::memory_order_acquire) != 2 * i + 2) {
    }
  }
  return std::chrono::duration<double, std::nano>(Clock::now() - began).count() / (2 * kTransfers);
}

}  // namespace

int main() {
  const int here = AllowedCpu(0), there = AllowedCpu(1);
  if (there < 0 || !BindTo(here)) {
    std::fprintf(stderr, "core_distance: needs two CPUs, and threads that may be bound to them\n");
    return 1;
  }
  std::atomic<bool> is_bound{false};
  std::thread other(Answer, there, std::ref(is_bound));
  double least = OneRound(0);
  for (int round = 1; round < kRounds; ++round) least = std::min(least, OneRound(round));
  other.join();
  if (!is_bound) {
    std::fprintf(stderr, "core_distance: a thread could not be bound to CPU %d\n", there);
    return 1;
  }
  std::printf("%.1f\n", least);
  return 0;
}
