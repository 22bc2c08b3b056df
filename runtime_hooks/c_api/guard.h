// The wrapper of every function of the C interface: it returns statuses and catches exceptions.
//
//   return Guarded<char*>(status, nullptr, [&]() -> absl::StatusOr<char*> { ... });
#ifndef TEKTITE_RUNTIME_HOOKS_C_API_GUARD_H_
#define TEKTITE_RUNTIME_HOOKS_C_API_GUARD_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/base/catch_all.h"
#include "runtime_hooks/c_api/tektite.h"

namespace tektite::c_api {

// Fills *out (which may be null); the message is cut to fit and has no line breaks.
void SetStatus(const absl::Status& status, tektite_status* out);

// A copy that tektite_string_free releases; null when there is no memory.
char* CopyString(absl::string_view text);

// body() -> absl::StatusOr<T>; `otherwise` is returned with a status that is not OK.
template <typename T, typename Body>
T Guarded(tektite_status* status, T otherwise, Body&& body) {
  T result = otherwise;
  const absl::Status outcome = CatchAll([&]() -> absl::Status {
    absl::StatusOr<T> value = body();
    if (value.ok()) result = *std::move(value);
    return value.status();
  });
  SetStatus(outcome, status);
  return result;
}

// Guarded for functions that return text.
template <typename Body>
char* GuardedText(tektite_status* status, Body&& body) {
  return Guarded<char*>(status, nullptr, [&]() -> absl::StatusOr<char*> {
    const absl::StatusOr<std::string> text = body();
    if (!text.ok()) return text.status();
    char* copy = CopyString(*text);
    if (copy == nullptr) return absl::ResourceExhaustedError("out of memory");
    return copy;
  });
}

}  // namespace tektite::c_api

#endif  // TEKTITE_RUNTIME_HOOKS_C_API_GUARD_H_
