// Identities of processes that share a directory, and whether a process still lives.
//
//   const ProcessId self = CurrentProcess();
//   if (IsDead(other)) unlink(its_temporary_file);
//
// A number alone does not tell processes apart: numbers are reused, and processes on other machines
// or in other containers have their own.  So an id holds the number, the time the process started,
// and a fingerprint of the machine's boot and the process namespace.
#ifndef TEKTITE_JIT_BASE_PROCESS_H_
#define TEKTITE_JIT_BASE_PROCESS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tektite {

struct ProcessId {
  std::string space;  // 16 hexadecimal digits: where the number means something
  int64_t pid = 0;
  int64_t start = 0;  // in the kernel's ticks since boot

  // "space.pid.start", for file names.
  std::string ToString() const;
  static bool Parse(absl::string_view text, ProcessId* id);
};

// Right after a fork, too.
ProcessId CurrentProcess();
// Known to be gone.  False for a process of another space, about which nothing is known.
bool IsDead(const ProcessId& id);

// Microseconds since 1970.
int64_t NowMicroseconds();

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_PROCESS_H_
