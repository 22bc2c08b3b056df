// Writes all bytes to an open file.
//
//   if (!WriteAll(fd, bytes)) return Failed(path);   // errno says why
#ifndef TEKTITE_JIT_BASE_WRITE_ALL_H_
#define TEKTITE_JIT_BASE_WRITE_ALL_H_

#include "absl/strings/string_view.h"

namespace tektite {

// False with errno.  A file that grows beyond RLIMIT_FSIZE is such an error, and no signal.
bool WriteAll(int fd, absl::string_view bytes);

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_WRITE_ALL_H_
