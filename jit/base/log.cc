#include "jit/base/log.h"

#include <cstdio>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace tektite {
namespace {

// Bounds the memory that distinct messages may take in a process that lives for months.
constexpr size_t kMaxDistinctLines = 1000;

struct Printed {
  absl::Mutex mu;
  std::set<std::string, std::less<>> lines ABSL_GUARDED_BY(mu);
};

}  // namespace

void WarnOnce(absl::string_view line) {
  static Printed& printed = *new Printed;
  {
    absl::MutexLock lock(&printed.mu);
    if (printed.lines.size() >= kMaxDistinctLines) return;
    if (!printed.lines.emplace(line).second) return;
  }
  std::fprintf(stderr, "tektite: %.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace tektite
