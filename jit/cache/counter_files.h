// The places of processes' counter files (jit/base/counter_file.h): run/ of the cache directory, or
// the path that --stats_file names.
//
//   const std::string path = NewCounterFilePath(flags);      // this process writes it
//   absl::StatusOr<std::string> file = FindCounterFile(flags, "4711");   // `tektite stats 4711`
//
// The files count in the directory's bound (evict.h). Limits: a process of another container is
// known to be gone only by the lock on its file.
#ifndef TEKTITE_JIT_CACHE_COUNTER_FILES_H_
#define TEKTITE_JIT_CACHE_COUNTER_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/base/flags.h"
#include "jit/cache/directory.h"

namespace tektite::cache {

// For this process; empty where there is no place for one.  Of processes that are gone the last few
// are kept.
std::string NewCounterFilePath(const Flags& flags);
// Removes files that are older than the newest `kept` and belong to no process: a process of this
// boot and process namespace must be known to be gone; a process of another one, whose number means
// nothing here, must hold no lock on its file.  Returns how many.
int RemoveCounterFiles(const Directory& run_folder, size_t kept);
// `which`: a process's number, or a file, or empty for the newest.
absl::StatusOr<std::string> FindCounterFile(const Flags& flags, absl::string_view which);

}  // namespace tektite::cache

#endif  // TEKTITE_JIT_CACHE_COUNTER_FILES_H_
