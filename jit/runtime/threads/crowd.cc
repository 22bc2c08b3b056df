#include "jit/runtime/threads/crowd.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace tektite::runtime {
namespace {

// Runnable threads, of which one more than the usual now and then is no crowd: in 64ths.
std::atomic<int64_t> mean_runnable{0};
std::atomic<int64_t> next_look{0};  // 0: not in a crowd

// Of all programs; 0 where that is unknown.
int RunnableThreads() {
  static const int file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  char text[128];
  const ssize_t size = file < 0 ? -1 : pread(file, text, sizeof(text) - 1, 0);
  if (size <= 0) return 0;
  text[size] = '\0';
  int runnable = 0;
  return std::sscanf(text, "%*s %*s %*s %d/", &runnable) == 1 ? runnable : 0;
}

}  // namespace

bool IsCrowded(int64_t now) {
  const int64_t look = next_look.load(std::memory_order_relaxed);
  if (look != 0 && now >= look) NoteLateness(now);
  return next_look.load(std::memory_order_relaxed) != 0;
}

void NoteLateness(int64_t now) {
  static const int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
  const int64_t mean = mean_runnable.load(std::memory_order_relaxed);
  const int64_t next = mean + (64 * RunnableThreads() - mean) / 4;
  mean_runnable.store(next, std::memory_order_relaxed);
  next_look.store(next >= 2 * 64 * cores ? now + kLookNs : 0, std::memory_order_relaxed);
}

}  // namespace tektite::runtime
