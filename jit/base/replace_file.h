// Writes a file that other users' files and links may lie beside.
//
//   TEKTITE_RETURN_IF_ERROR(ReplaceFile("/var/lib/metrics/tektite.prom", text));
//
// The bytes go to a new file of a name that cannot be guessed, which then takes the old one's
// place: a reader sees the old file or the new one, and a link that another user has laid at either
// name is not followed.  A link at `path` itself that belongs to another user (root is none) is
// refused, since it shows that other users may write to that folder.  The folder is opened once, so
// that it is one and the same for both steps.
//
// Limits: not synced, so after a power failure the file may be empty.  A process that is killed
// between the steps leaves the new file, "NAME.PID.RANDOM.tmp".
#ifndef TEKTITE_JIT_BASE_REPLACE_FILE_H_
#define TEKTITE_JIT_BASE_REPLACE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tektite {

// Readable for those whom the umask allows.  FailedPrecondition for such a link, Unavailable with
// the system's reason for everything else.
absl::Status ReplaceFile(const std::string& path, absl::string_view bytes);

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_REPLACE_FILE_H_
