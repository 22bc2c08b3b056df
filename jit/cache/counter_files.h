// Where processes leave their counter files (jit/base/counter_file.h): in run/ of the cache
// directory, or where --stats_file says.  They count in the directory's bound (evict.h).
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
// Removes what is older than the newest `kept` files and belongs to no process: of this boot and
// process namespace one that is known to be gone; of others, whose numbers mean nothing here, one
// that holds no lock on its file.  Returns how many.
int RemoveCounterFiles(const Directory& run_folder, size_t kept);
// `which`: a process's number, or a file, or empty for the newest.
absl::StatusOr<std::string> FindCounterFile(const Flags& flags, absl::string_view which);

}  // namespace tektite::cache

#endif  // TEKTITE_JIT_CACHE_COUNTER_FILES_H_
