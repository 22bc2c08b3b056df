#include "jit/cache/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "jit/base/process.h"
#include "jit/base/status.h"
#include "jit/base/write_all.h"

namespace tektite::cache {
namespace {

constexpr absl::string_view kTemporary = "tmp.";
constexpr int64_t kUnknownProcessUs = int64_t{3600} * 1000000;
constexpr int64_t kUnlockableUs = int64_t{7 * 86400} * 1000000;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  bool Close() { return close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

absl::Status Failed(absl::string_view what, absl::string_view path) {
  const std::string message = absl::StrCat("cannot ", what, " '", path, "': ", strerror(errno));
  switch (errno) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(message);
    case EROFS:
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(message);
    case ENOENT:
      return absl::NotFoundError(message);
    default:
      return absl::UnavailableError(message);
  }
}

int64_t Microseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1000000 + time.tv_nsec / 1000;
}

bool OthersMayWrite(const struct stat& info) { return (info.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

bool IsOurs(const struct stat& info) { return info.st_uid == geteuid() || info.st_uid == 0; }

}  // namespace

absl::StatusOr<std::unique_ptr<Directory>> Directory::Open(const std::string& path, Use use) {
  if (use == Use::kReadWrite) {
    const std::filesystem::path whole(path);
    std::error_code error;
    if (whole.has_parent_path()) std::filesystem::create_directories(whole.parent_path(), error);
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return Failed("make", path);
  }
  Descriptor fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.ok()) {
    if (errno == ELOOP || errno == ENOTDIR) {
      return absl::FailedPreconditionError(
          absl::StrCat("'", path, "' is a symbolic link or not a directory"));
    }
    return Failed("open", path);
  }
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return Failed("look at", path);
  if (use != Use::kReadOthers && !IsOurs(info)) {
    return absl::FailedPreconditionError(absl::StrCat("'", path, "' belongs to user ", info.st_uid,
                                                      ", not to ", geteuid(),
                                                      geteuid() == 0 ? "" : " or root"));
  }
  if (OthersMayWrite(info)) {
    return absl::FailedPreconditionError(
        absl::StrCat("others may write to '", path, "': chmod go-w makes it safe"));
  }
  const int kept = fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
  if (kept < 0) return Failed("keep open", path);
  return std::unique_ptr<Directory>(new Directory(path, kept, use));
}

Directory::~Directory() { close(descriptor_); }

Directory::ReadResult Directory::Read(absl::string_view name, std::string* bytes,
                                      int64_t most) const {
  const Descriptor fd(openat(descriptor_, std::string(name).c_str(),
                             O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd.ok()) {
    if (errno == ENOENT) return ReadResult::kAbsent;
    return errno == ELOOP || errno == EACCES ? ReadResult::kRefused : ReadResult::kFailed;
  }
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ReadResult::kFailed;
  if (!S_ISREG(info.st_mode) || OthersMayWrite(info)) return ReadResult::kRefused;
  if (use_ != Use::kReadOthers && !IsOurs(info)) return ReadResult::kRefused;
  if (info.st_size > kMostFileBytes) return ReadResult::kRefused;
  bytes->resize(std::min<int64_t>(info.st_size, most));
  size_t done = 0;
  while (done < bytes->size()) {
    const ssize_t count = read(fd.get(), bytes->data() + done, bytes->size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ReadResult::kFailed;
    if (count == 0) break;  // cut short meanwhile
    done += count;
  }
  bytes->resize(done);
  return ReadResult::kOk;
}

std::string Directory::WhyRefused(absl::string_view name) const {
  struct stat info;
  if (fstatat(descriptor_, std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return "";
  if (!S_ISREG(info.st_mode)) return "not a regular file";
  if (OthersMayWrite(info)) return "others may write to it";
  if (!IsOurs(info)) return absl::StrCat("belongs to user ", info.st_uid, ", not to you or root");
  return "";
}

absl::Status Directory::Write(absl::string_view name, absl::string_view bytes, int mode,
                              Sync sync) const {
  static std::atomic<uint64_t> count{0};
  const std::string temporary =
      absl::StrCat(kTemporary, CurrentProcess().ToString(), ".", count.fetch_add(1));
  const std::string target(name);
  const std::string whole = absl::StrCat(path_, "/", name);
  Descriptor fd(openat(descriptor_, temporary.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd.ok()) return Failed("write", whole);
  // The file's mode whatever the umask is; a digest guards the content, so that nothing rests on
  // fsync but that power failures cost no entry.
  const bool written = fchmod(fd.get(), mode) == 0 && WriteAll(fd.get(), bytes) &&
                       (sync == Sync::kNo || fsync(fd.get()) == 0) && fd.Close() &&
                       renameat(descriptor_, temporary.c_str(), descriptor_, target.c_str()) == 0;
  if (written) return absl::OkStatus();
  const absl::Status failed = Failed("write", whole);
  unlinkat(descriptor_, temporary.c_str(), 0);
  return failed;
}

absl::Status Directory::Append(absl::string_view name, absl::string_view bytes) const {
  const Descriptor fd(openat(descriptor_, std::string(name).c_str(),
                             O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.ok() || !WriteAll(fd.get(), bytes))
    return Failed("write", absl::StrCat(path_, "/", name));
  return absl::OkStatus();
}

bool Directory::Remove(absl::string_view name) const {
  return unlinkat(descriptor_, std::string(name).c_str(), 0) == 0;
}

bool Directory::RemoveIfEmpty() const { return rmdir(path_.c_str()) == 0; }
bool Directory::RemoveUnlessLocked(absl::string_view name) const {
  const std::string target(name);
  const Descriptor fd(
      openat(descriptor_, target.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd.ok()) return false;
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    struct stat info;
    if (errno == EWOULDBLOCK || fstat(fd.get(), &info) != 0) return false;
    if (NowMicroseconds() - Microseconds(info.st_mtim) < kUnlockableUs) return false;
  }
  return Remove(target);
}

void Directory::Touch(absl::string_view name, int64_t granularity_us) const {
  const std::string target(name);
  struct stat info;
  if (fstatat(descriptor_, target.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (NowMicroseconds() - Microseconds(info.st_mtim) < granularity_us) return;
  utimensat(descriptor_, target.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

template <typename Visit>
void Directory::ForEachName(Visit&& visit) const {
  // A descriptor of its own: readdir moves it.
  const int fd = openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const stream = fd < 0 ? nullptr : fdopendir(fd);
  if (stream == nullptr) {
    if (fd >= 0) close(fd);
    return;
  }
  while (const dirent* item = readdir(stream)) visit(absl::string_view(item->d_name));
  closedir(stream);
}

std::vector<Directory::File> Directory::List(absl::string_view suffix) const {
  std::vector<File> files;
  ForEachName([&](absl::string_view name) {
    if (!absl::EndsWith(name, suffix) || absl::StartsWith(name, kTemporary)) return;
    struct stat info;
    File file;
    file.name = std::string(name);
    if (fstatat(descriptor_, file.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (!S_ISREG(info.st_mode)) return;
    file.bytes = info.st_size;
    file.used_us = Microseconds(info.st_mtim);
    files.push_back(std::move(file));
  });
  return files;
}

int Directory::Sweep() const {
  std::vector<std::string> temporary;
  ForEachName([&](absl::string_view name) {
    if (absl::StartsWith(name, kTemporary)) temporary.emplace_back(name);
  });
  int removed = 0;
  for (const std::string& name : temporary) {
    absl::string_view id = absl::StripPrefix(name, kTemporary);
    id = id.substr(0, id.rfind('.'));
    ProcessId process;
    bool dead = ProcessId::Parse(id, &process) && IsDead(process);
    struct stat info;
    if (!dead && fstatat(descriptor_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
      dead = NowMicroseconds() - Microseconds(info.st_mtim) > kUnknownProcessUs;
    }
    if (dead && Remove(name)) ++removed;
  }
  return removed;
}

}  // namespace tektite::cache
