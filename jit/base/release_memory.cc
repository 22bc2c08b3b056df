#include "jit/base/release_memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tektite {
namespace {

struct Segment {
  uintptr_t begin, end;
  bool is_writable;
};

// Libraries that were loaded for this one: abseil's, one for each of its rooms, take 1 MiB.
constexpr const char* kCompanions[] = {"libabsl_", "libsodium."};

// Without abseil's help, which would bring its pages back.
bool IsCompanion(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  for (const char* start : kCompanions) {
    if (std::strncmp(name, start, std::strlen(start)) == 0) return true;
  }
  return false;
}

// Called for each loaded object; drops pages of the one that holds this function, and of its
// companions.
int DropCleanPages(dl_phdr_info* object, size_t, void*) {
  const auto here = reinterpret_cast<uintptr_t>(&DropCleanPages);
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  std::vector<Segment> segments;
  bool is_ours = IsCompanion(object->dlpi_name);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const uintptr_t begin = object->dlpi_addr + header.p_vaddr;
    segments.push_back({begin, begin + header.p_memsz, (header.p_flags & PF_W) != 0});
    is_ours |= begin <= here && here < segments.back().end;
  }
  if (!is_ours) return 0;
  for (const Segment& segment : segments) {
    if (segment.is_writable) continue;  // its pages are not the file's any more
    const uintptr_t begin = (segment.begin + page - 1) / page * page;
    const uintptr_t end = segment.end / page * page;
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

// Released memory costs page faults when it is needed again, and walking the heap takes a
// millisecond, or twenty in a training program of a gigabyte: what lies between keeps the walks to
// a twentieth of the time and the faults to some hundredths.
constexpr int64_t kBetweenNs = 50'000'000, kBetweenPerCost = 20;

// A compiling thread needs the library's pages at once again, and what it needs no more are those
// that importing has left.  Dropped each time they were a twentieth of the time.
constexpr int64_t kBetweenDropsNs = 1'000'000'000;

// A thread that a busy machine lets run a quarter of the time would otherwise walk the heap four
// times as often for the same work: of compiling a bidirectional LSTM's step that was a sixth.
int64_t ThreadNanoseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::atomic<bool> keeps_library_pages{false};

void DropLibraryPages() {
  if (!keeps_library_pages) dl_iterate_phdr(&DropCleanPages, nullptr);
}

}  // namespace

void ReleaseFreeMemoryAtTimes() {
  static thread_local int64_t due = 0, drop_due = 0;
  const int64_t began = ThreadNanoseconds();
  if (began < due) return;
  malloc_trim(0);
  if (began >= drop_due) {
    DropLibraryPages();
    drop_due = began + kBetweenDropsNs;
  }
  const int64_t ended = ThreadNanoseconds();
  due = ended + std::max(kBetweenNs, kBetweenPerCost * (ended - began));
}

void ReleaseFreeMemory() {
  malloc_trim(0);
  DropLibraryPages();
}

void KeepLibraryPages() { keeps_library_pages = true; }

}  // namespace tektite
