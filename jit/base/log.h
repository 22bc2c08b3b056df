// The one way to speak on stderr: a line that starts with "tektite: ".
//
// Warnings are for what the user can act on (a bad flag, a refused cache file); a message with the
// same text is printed once per process.  Everything else is a counter or a reason code.
//
//   Warn("unknown flag --", name);      // tektite: unknown flag --...
//
// Limits: a process prints at most 1,000 different lines.
#ifndef TEKTITE_JIT_BASE_LOG_H_
#define TEKTITE_JIT_BASE_LOG_H_

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tektite {

// Prints "tektite: <line>" unless this very line was printed before.
void WarnOnce(absl::string_view line);

template <typename... Args>
void Warn(const Args&... args) {
  WarnOnce(absl::StrCat(args...));
}

}  // namespace tektite

#endif  // TEKTITE_JIT_BASE_LOG_H_
