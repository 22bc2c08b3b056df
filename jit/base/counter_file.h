// Counters in a file that the process maps, so that others can read them while it runs.
//
//   auto counters = CounterFile::Create("/run/x.stats");           // null where that cannot be
//   std::atomic<uint64_t>* runs = counters->Counter("runs");       // null when the table is full
//   runs->store(7, std::memory_order_relaxed);                     // no system call
//   ...
//   absl::StatusOr<CounterSnapshot> seen = ReadCounterFile("/run/x.stats");   // another process
//
// Every value is read and written whole; values of one moment do not belong together more closely
// than that.  The file stays when the process ends, with its last values.
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
  // Replaces what is there.
  static std::unique_ptr<CounterFile> Create(const std::string& path);
  ~CounterFile();

  // The counter of this name, made with the first call; lives as long as this object.
  std::atomic<uint64_t>* Counter(absl::string_view name);

 private:
  struct Table;
  explicit CounterFile(Table* table) : table_(table) {}

  std::mutex mutex_;  // of those who add rows
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
