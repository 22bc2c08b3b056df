#include "jit/base/log.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace tektite {
namespace {

// Bounds the memory that distinct messages may take in a process that lives for months.
constexpr size_t kMaxDistinctLines = 1000;

struct Printed {
  std::mutex mutex;
  std::set<std::string, std::less<>> lines;  // guarded by it
};

}  // namespace

void WarnOnce(absl::string_view line) {
  static Printed& printed = *new Printed;
  {
    std::lock_guard<std::mutex> lock(printed.mutex);
    if (printed.lines.size() >= kMaxDistinctLines) return;
    if (!printed.lines.emplace(line).second) return;
  }
  std::fprintf(stderr, "tektite: %.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace tektite
