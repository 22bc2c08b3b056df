// Counters that other processes can read while this one runs, and from a file when it has ended.
//
//   auto counters = CounterFile::Create("/run/x.stats");           // null where that cannot be
//   std::atomic<uint64_t>* runs = counters->Counter("runs");       // null when the table is full
//   runs->store(7, std::memory_order_relaxed);                     // no system call
//   counters->Save();
//   ...
//   absl::StatusOr<CounterSnapshot> seen = ReadCounterFile("/run/x.stats");   // another process
//
// The counters lie in memory that no other process can cut short (a sealed memfd): a mapped file
// that another process truncates would kill the process that counts.  The file says where they are,
// and is a copy of them as of the last Save, the destructor or the process's end.  A reader that
// may not look at the process (another user, another container) sees the copy, and so does one that
// comes after its end.
//
// The file is locked as long as its process lives (flock): where the lock can be had, it belongs to
// none.  Every value is read and written whole; values of one moment do not belong together more
// closely than that.
#ifndef TEKTITE_JIT_BASE_COUNTER_FILE_H_
#define TEKTITE_JIT_BASE_COUNTER_FILE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/base/process.h"

namespace tektite {

struct CounterSnapshot;

class CounterFile {
 public:
  // Replaces an existing file.
  static std::unique_ptr<CounterFile> Create(const std::string& path);
  // Saves.
  ~CounterFile();
  CounterFile(const CounterFile&) = delete;
  CounterFile& operator=(const CounterFile&) = delete;

  // The counter of this name, made with the first call; lives as long as this object.
  std::atomic<uint64_t>* Counter(absl::string_view name);
  // Writes the file, which may fail: then it stays as it is.
  void Save() const;

 private:
  struct Table;
  CounterFile(int file, int memory, Table* table);
  static void SaveAll();

  const int file_;    // holds the lock
  const int memory_;  // mapped at `table_`; -1: other processes cannot read it
  std::mutex mutex_;  // held while a row is added
  Table* const table_;
  friend absl::StatusOr<CounterSnapshot> ReadCounterFile(const std::string& path);
};

struct CounterSnapshot {
  int64_t pid = 0;
  int64_t start_us = 0;                                    // when the file was made
  std::vector<std::pair<std::string, uint64_t>> counters;  // in the order they were made
};
// InvalidArgument for a file that is none of these.
absl::StatusOr<CounterSnapshot> ReadCounterFile(const std::string& path);

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_COUNTER_FILE_H_
