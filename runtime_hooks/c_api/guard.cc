#include "runtime_hooks/c_api/guard.h"

#include <algorithm>
#include <cstdlib>

namespace tektite::c_api {

void SetStatus(const absl::Status& status, tektite_status* out) {
  if (out == nullptr) return;
  out->code = static_cast<int32_t>(status.code());
  out->fallback = TEKTITE_FALLBACK_NONE;
  const absl::string_view message = status.message();
  // An empty view may have no data, which memcpy must not be given.
  const size_t length = message.copy(out->message, sizeof(out->message) - 1);
  std::replace(out->message, out->message + length, '\n', ' ');
  out->message[length] = '\0';
}

char* CopyString(absl::string_view text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  copy[text.copy(copy, text.size())] = '\0';
  return copy;
}

}  // namespace tektite::c_api
