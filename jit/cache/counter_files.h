// Where processes leave their counter files (jit/base/counter_file.h): in run/ of the cache
// directory, or where --stats_file says.
#ifndef TEKTITE_JIT_CACHE_COUNTER_FILES_H_
#define TEKTITE_JIT_CACHE_COUNTER_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/base/flags.h"

namespace tektite::cache {

// For this process; empty where there is no place for one.  Of dead processes the last few are
// kept.
std::string NewCounterFilePath(const Flags& flags);
// `which`: a process's number, or a file, or empty for the newest.
absl::StatusOr<std::string> FindCounterFile(const Flags& flags, absl::string_view which);

}  // namespace tektite::cache

#endif  // TEKTITE_JIT_CACHE_COUNTER_FILES_H_
