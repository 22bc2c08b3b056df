#include "jit/cache/counter_files.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "jit/base/process.h"
#include "jit/base/status.h"
#include "jit/cache/directory.h"
#include "jit/cache/location.h"

namespace tektite::cache {
namespace {

// The newest kKept files stay, whether their processes live or not, and at most kMostLooks older
// ones are examined: one file costs a look into /proc or at its lock, some 10 us, on the thread of
// a process's first request.
constexpr size_t kKept = 16;
constexpr size_t kMostLooks = 512;

// The process of "TIME-space.pid.start.stats"; the time is of fixed width, so that names sort by
// it.
bool ProcessOf(absl::string_view name, ProcessId* id) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(absl::StripSuffix(name, kStatsSuffix), absl::MaxSplits('-', 1));
  return ProcessId::Parse(parts.second, id);
}

std::vector<std::string> NewestFirst(const Directory& directory) {
  std::vector<std::string> names;
  for (Directory::File& file : directory.List(kStatsSuffix)) names.push_back(std::move(file.name));
  std::sort(names.rbegin(), names.rend());
  return names;
}

}  // namespace

int RemoveCounterFiles(const Directory& run_folder, size_t kept) {
  const std::vector<std::string> names = NewestFirst(run_folder);
  const std::string space = CurrentProcess().space;
  int removed = 0;
  // The oldest first: those whose processes still live are few.
  const size_t end = std::max(kept, names.size() - std::min(names.size(), kMostLooks));
  for (size_t i = names.size(); i-- > end;) {
    ProcessId id;
    if (!ProcessOf(names[i], &id)) continue;
    const bool is_gone = id.space == space ? IsDead(id) && run_folder.Remove(names[i])
                                           : run_folder.RemoveUnlessLocked(names[i]);
    removed += is_gone;
  }
  return removed;
}

std::string NewCounterFilePath(const Flags& flags) {
  if (flags.stats_file == kCacheOff) return "";
  if (!flags.stats_file.empty()) return flags.stats_file;
  const std::string cache = CacheDirectory(flags);
  if (cache.empty() || !Directory::Open(cache, Directory::Use::kReadWrite).ok()) return "";
  auto directory =
      Directory::Open(absl::StrCat(cache, "/", kRunFolder), Directory::Use::kReadWrite);
  if (!directory.ok()) return "";
  RemoveCounterFiles(**directory, kKept);
  (*directory)->Sweep();
  // A process may have several compilers.
  static std::atomic<int64_t> last{0};
  const int64_t time = std::max(NowMicroseconds(), last.load() + 1);
  last = time;
  return absl::StrCat((*directory)->path(), "/", absl::StrFormat("%020d", time), "-",
                      CurrentProcess().ToString(), kStatsSuffix);
}

absl::StatusOr<std::string> FindCounterFile(const Flags& flags, absl::string_view which) {
  int64_t pid = 0;
  const bool any = which.empty();
  if (!any && !absl::SimpleAtoi(which, &pid)) return std::string(which);
  const std::string path = absl::StrCat(CacheDirectory(flags), "/", kRunFolder);
  auto directory = Directory::Open(path, Directory::Use::kReadIfThere);
  if (directory.ok()) {
    for (const std::string& name : NewestFirst(**directory)) {
      ProcessId id;
      if (ProcessOf(name, &id) && (any || id.pid == pid)) return absl::StrCat(path, "/", name);
    }
  }
  if (any) return absl::NotFoundError(absl::StrCat("no counters of a process in '", path, "'"));
  return absl::NotFoundError(absl::StrCat("process ", pid, " left no counters in '", path, "'"));
}

}  // namespace tektite::cache
