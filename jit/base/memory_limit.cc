#include "jit/base/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "jit/base/saturating.h"

namespace tektite {
namespace {

// kMostInt64 for "max", for a file that is not there, and for anything that is no number.
int64_t ReadLimit(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  int64_t bytes = 0;
  if (!(file >> word) || !absl::SimpleAtoi(word, &bytes) || bytes <= 0) return kMostInt64;
  return bytes;
}

// A group is bound by the limits of all groups around it.
int64_t LeastUpwards(const std::string& root, std::string group, absl::string_view file) {
  int64_t least = kMostInt64;
  while (true) {
    least = std::min(least, ReadLimit(absl::StrCat(root, group, "/", file)));
    if (group.empty()) return least;
    const size_t slash = group.rfind('/');
    group.resize(slash == std::string::npos ? 0 : slash);
  }
}

int64_t ReadMemoryLimit() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGE_SIZE);
  const int64_t machine =
      pages > 0 && page_bytes > 0 ? SaturatingMul(pages, page_bytes) : kMostInt64;
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream groups;
  groups << file.rdbuf();
  return std::min(machine, ControlGroupLimit(groups.str(), "/sys/fs/cgroup"));
}

}  // namespace

int64_t ControlGroupLimit(absl::string_view groups, const std::string& mount) {
  int64_t least = kMostInt64;
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    // "0::/path" is a group of version 2, "4:memory:/path" of version 1.
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::string path(parts[2] == "/" ? "" : parts[2]);
    if (parts[1].empty()) {
      least = std::min(least, LeastUpwards(mount, path, "memory.max"));
      continue;
    }
    const std::vector<absl::string_view> controllers = absl::StrSplit(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "memory") != controllers.end()) {
      least = std::min(least, LeastUpwards(mount + "/memory", path, "memory.limit_in_bytes"));
    }
  }
  return least;
}

int64_t MemoryLimit() {
  static const int64_t limit = ReadMemoryLimit();
  return limit;
}

}  // namespace tektite
