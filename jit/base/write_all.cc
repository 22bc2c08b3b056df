#include "jit/base/write_all.h"

#include <unistd.h>

#include <cerrno>

#include "jit/base/no_file_size_signal.h"

namespace tektite {

bool WriteAll(int fd, absl::string_view bytes) {
  const NoFileSizeSignal guard;
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace tektite
