// While it lives, a write beyond RLIMIT_FSIZE is an error (EFBIG) for this thread and no signal.
//
//   const NoFileSizeSignal guard;
//   if (pwrite(fd, bytes, size, 0) < 0) return Failed(errno);
//
// The signal ends a process by default.  It is not the host's doing, so the host must not die of
// it.
#ifndef TEKTITE_JIT_BASE_NO_FILE_SIZE_SIGNAL_H_
#define TEKTITE_JIT_BASE_NO_FILE_SIZE_SIGNAL_H_

#include <pthread.h>
#include <signal.h>

#include <cerrno>

namespace tektite {

class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~NoFileSizeSignal() {
    const int saved = errno;
    const timespec now = {};
    if (!was_pending_) sigtimedwait(&set_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = saved;
  }
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t set_, before_;
  bool was_pending_;
};

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_NO_FILE_SIZE_SIGNAL_H_
