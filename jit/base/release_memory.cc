#include "jit/base/release_memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

// The linker's: where the file with this code begins, and where its code ends.
extern "C" {
__attribute__((visibility("hidden"))) extern const char __ehdr_start[];
__attribute__((visibility("hidden"))) extern const char etext[];
}

namespace tektite {
namespace {

// Released memory costs page faults when it is needed again, and walking the heap takes a
// millisecond, or twenty in a training program of a gigabyte: what lies between keeps the walks to
// a twentieth of the time and the faults to some hundredths.
constexpr int64_t kBetweenNs = 50'000'000, kBetweenPerCost = 20;

// A thread that a busy machine lets run a quarter of the time would otherwise walk the heap four
// times as often for the same work: of compiling a bidirectional LSTM's step that was a sixth.
int64_t ThreadNanoseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// A debugger's breakpoints lie in pages of its own.
bool IsTraced() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "TracerPid:") return status >> word && word != "0";
  }
  return false;
}

// Gives back the pages of our own code, which the page cache keeps: of LLVM's, 14 MB in a process
// that compiles a bidirectional LSTM.  Those that are needed again come back in microseconds.
void DropCode() {
  if (IsTraced()) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(__ehdr_start) + page - 1) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(etext) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

void ReleaseFreeMemoryAtTimes() {
  static thread_local int64_t due = 0;
  const int64_t began = ThreadNanoseconds();
  if (began < due) return;
  malloc_trim(0);
  const int64_t ended = ThreadNanoseconds();
  due = ended + std::max(kBetweenNs, kBetweenPerCost * (ended - began));
}

void ReleaseFreeMemory() {
  malloc_trim(0);
  DropCode();
}

}  // namespace tektite
