#include "jit/base/process.h"

#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <climits>
#include <fstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "jit/base/hash.h"

namespace tektite {
namespace {

// The 22nd field of /proc/PID/stat; the second may hold anything, in parentheses.  0: no process.
int64_t StartOf(int64_t pid) {
  // Not by a stream: reading about a process that ends meanwhile fails, and streams then throw.
  const int fd = open(absl::StrCat("/proc/", pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char buffer[1024];
  const ssize_t bytes = read(fd, buffer, sizeof(buffer));
  close(fd);
  const absl::string_view text(buffer, bytes < 0 ? 0 : bytes);
  const size_t end = text.rfind(')');
  if (end == absl::string_view::npos) return 0;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(text.substr(end + 1), ' ', absl::SkipEmpty());
  constexpr size_t kStart = 22 - 3;
  int64_t start = 0;
  if (fields.size() <= kStart || !absl::SimpleAtoi(fields[kStart], &start)) return 0;
  // A zombie has ended; it only waits for its parent to hear of it.
  return fields[0] == "Z" || fields[0] == "X" ? 0 : start;
}

const std::string& Space() {
  static const std::string& space = *new std::string([] {
    std::ifstream boot("/proc/sys/kernel/random/boot_id");
    std::string text;
    std::getline(boot, text);
    char link[PATH_MAX];
    const ssize_t size = readlink("/proc/self/ns/pid", link, sizeof(link));
    if (size > 0) text.append(link, size);
    return FingerprintOf(text).Hex().substr(0, 16);
  }());
  return space;
}

}  // namespace

std::string ProcessId::ToString() const { return absl::StrCat(space, ".", pid, ".", start); }

bool ProcessId::Parse(absl::string_view text, ProcessId* id) {
  const std::vector<std::string> parts = absl::StrSplit(text, '.');
  if (parts.size() != 3 || parts[0].size() != 16) return false;
  id->space = parts[0];
  return absl::SimpleAtoi(parts[1], &id->pid) && absl::SimpleAtoi(parts[2], &id->start) &&
         id->pid > 0;
}

ProcessId CurrentProcess() {
  static thread_local ProcessId self;
  if (self.pid != getpid()) self = {Space(), getpid(), StartOf(getpid())};
  return self;
}

bool IsDead(const ProcessId& id) { return id.space == Space() && StartOf(id.pid) != id.start; }

int64_t NowMicroseconds() {
  timeval now;
  gettimeofday(&now, nullptr);
  return int64_t{now.tv_sec} * 1000000 + now.tv_usec;
}

}  // namespace tektite
