// A directory of small files that any number of processes read and write at once.
//
//   TEKTITE_ASSIGN_OR_RETURN(auto directory, Directory::Open(path, Directory::Use::kReadWrite));
//   TEKTITE_RETURN_IF_ERROR(directory->Write("3f2a.entry", bytes));   // all of it or nothing
//   Directory::ReadResult result = directory->Read("3f2a.entry", &bytes);
//
// No locks: a file is written under a temporary name, synced, and renamed, so that readers see
// whole files only, also over a network, and a process may be killed anywhere.  Temporary files
// carry their process's id; Sweep removes those of dead ones.
//
// Bytes that run as code must not come from another user.  A directory that is ours to write to is
// made with mode 0700; one that belongs to another user, that other users may write to, or that is
// a symbolic link is refused, and so is such a file.  Only a directory that is read with
// kReadOthers may belong to another user: its content is not run, or a signature says whose it is
// (pack_signature.h).
#ifndef TEKTITE_JIT_CACHE_DIRECTORY_H_
#define TEKTITE_JIT_CACHE_DIRECTORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tektite::cache {

class Directory {
 public:
  enum class Use { kReadWrite, kReadIfThere, kReadOthers };
  enum class ReadResult { kOk, kAbsent, kRefused, kFailed };
  struct File {
    std::string name;
    int64_t bytes = 0;
    int64_t used_us = 0;  // as Touch left it
  };

  // kReadWrite makes it and the folders above it; every other use returns NotFound when there is
  // none.  kReadOthers accepts another owner.  FailedPrecondition names the unsafe property.
  static absl::StatusOr<std::unique_ptr<Directory>> Open(const std::string& path, Use use);
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  const std::string& path() const { return path_; }
  // At most `most` bytes from the front.  A file that is no plain file, belongs to another user or
  // is writable by other users is refused.
  ReadResult Read(absl::string_view name, std::string* bytes, int64_t most = kMostFileBytes) const;
  // Why Read refuses it where code is run; empty: it does not, or there is no such file.
  std::string WhyRefused(absl::string_view name) const;
  enum class Sync : bool { kNo, kYes };
  // ResourceExhausted for a full disk or a limit, PermissionDenied for a directory to read only.
  // Without a sync a power failure may cost the file, or damage it, if it happens soon.
  absl::Status Write(absl::string_view name, absl::string_view bytes, int mode = 0600,
                     Sync sync = Sync::kYes) const;
  // Adds to the end, in one piece where other processes add, too.
  absl::Status Append(absl::string_view name, absl::string_view bytes) const;
  bool Remove(absl::string_view name) const;
  // If no process holds a lock on it (flock), which the system drops with the process that took it.
  // Where a file system knows no locks: if it was not written for a week.
  bool RemoveUnlessLocked(absl::string_view name) const;
  // The directory itself, where nothing is left in it.
  bool RemoveIfEmpty() const;
  // Makes it the last used.  Files that were used within `granularity_us` are left alone.
  void Touch(absl::string_view name, int64_t granularity_us) const;
  // Plain files whose names end so.
  std::vector<File> List(absl::string_view suffix) const;
  // Removes what dead processes left; returns the number of files.  Those of processes about which
  // nothing is known go after an hour.
  int Sweep() const;

  static constexpr int64_t kMostFileBytes = int64_t{256} << 20;

 private:
  Directory(std::string path, int descriptor, Use use)
      : path_(std::move(path)), descriptor_(descriptor), use_(use) {}
  template <typename Visit>
  void ForEachName(Visit&& visit) const;

  const std::string path_;
  const int descriptor_;
  const Use use_;
};

}  // namespace tektite::cache

#endif  // TEKTITE_JIT_CACHE_DIRECTORY_H_
