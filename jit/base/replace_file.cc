#include "jit/base/replace_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "jit/base/timing.h"
#include "jit/base/write_all.h"

namespace tektite {
namespace {

absl::Status Failed(const std::string& path) {
  return absl::UnavailableError(absl::StrCat("cannot write '", path, "': ", strerror(errno)));
}

std::string NewName(absl::string_view file) {
  static std::atomic<uint64_t> count{0};
  uint64_t random = 0;
  // Without random numbers the name can be guessed; O_EXCL still follows nothing.
  if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
    random = static_cast<uint64_t>(Nanoseconds()) + count.fetch_add(1);
  }
  return absl::StrCat(file, ".", getpid(), ".", absl::StrFormat("%016x", random), ".tmp");
}

absl::Status ReplaceIn(int folder, const std::string& path, const std::string& file,
                       absl::string_view bytes) {
  struct stat old;
  if (fstatat(folder, file.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(old.st_mode) &&
      old.st_uid != geteuid() && old.st_uid != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", path, "' is a symbolic link of user ", old.st_uid));
  }
  const std::string name = NewName(file);
  const int fd = openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
  if (fd < 0) return Failed(path);
  bool written = WriteAll(fd, bytes);
  const int reason = errno;
  written = close(fd) == 0 && written;
  if (!written) errno = reason;
  if (written && renameat(folder, name.c_str(), folder, file.c_str()) == 0) {
    return absl::OkStatus();
  }
  const absl::Status failed = Failed(path);
  unlinkat(folder, name.c_str(), 0);
  return failed;
}

}  // namespace

absl::Status ReplaceFile(const std::string& path, absl::string_view bytes) {
  const size_t slash = path.rfind('/');
  const std::string above = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int folder = open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return Failed(path);
  absl::Status status = ReplaceIn(folder, path, path.substr(slash + 1), bytes);
  close(folder);
  return status;
}

}  // namespace tektite
