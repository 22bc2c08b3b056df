#include "jit/serving/fallback.h"

#include <iterator>

namespace tektite::serving {
namespace {

constexpr const char* kCodes[] = {
    "NONE",
#define TEKTITE_FALLBACK(code, status, sentence) #code,
#include "jit/serving/fallback_list.inc"
#undef TEKTITE_FALLBACK
};

}  // namespace

Fallback FallbackOf(absl::StatusCode code) {
  if (code == absl::StatusCode::kOk) return Fallback::NONE;
#define TEKTITE_FALLBACK(name, status, sentence) \
  if (code == absl::StatusCode::status) return Fallback::name;
#include "jit/serving/fallback_list.inc"
#undef TEKTITE_FALLBACK
  return Fallback::INTERNAL_ERROR;
}

const char* FallbackCode(Fallback fallback) {
  const auto number = static_cast<size_t>(fallback);
  return number < std::size(kCodes) ? kCodes[number] : nullptr;
}

}  // namespace tektite::serving
