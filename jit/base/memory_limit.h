// How much memory this process can have: that of the machine, or of the control group (container)
// it runs in, whichever is less.
//
//   if (needed > MemoryLimit()) return absl::ResourceExhaustedError("too large for this machine");
//
// Why: Linux promises more memory than there is, and ends a process that uses it.  A call that
// needs more than there can ever be is refused before a page is touched.
// Limits: read once a process; what other processes use, and swap space, do not count.
#ifndef TEKTITE_JIT_BASE_MEMORY_LIMIT_H_
#define TEKTITE_JIT_BASE_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tektite {

// In bytes; thread-safe.
int64_t MemoryLimit();

// The least limit that control groups set, by the text of /proc/self/cgroup and the folder where
// their file system is mounted (/sys/fs/cgroup); kMostInt64 where there is none.
int64_t ControlGroupLimit(absl::string_view groups, const std::string& mount);

}  // namespace tektite
#endif  // TEKTITE_JIT_BASE_MEMORY_LIMIT_H_
