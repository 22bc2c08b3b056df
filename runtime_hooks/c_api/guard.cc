#include "runtime_hooks/c_api/guard.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tektite::c_api {

void SetStatus(const absl::Status& status, tektite_status* out) {
  if (out == nullptr) return;
  out->code = static_cast<int32_t>(status.code());
  const absl::string_view message = status.message();
  const size_t length = std::min(message.size(), sizeof(out->message) - 1);
  std::memcpy(out->message, message.data(), length);
  std::replace(out->message, out->message + length, '\n', ' ');
  out->message[length] = '\0';
}

char* CopyString(absl::string_view text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

}  // namespace tektite::c_api
