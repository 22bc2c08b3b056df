// The reasons' part of tektite.h: codes of fallbacks, and what all reasons mean.
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "jit/serving/fallback.h"
#include "runtime_hooks/c_api/guard.h"
#include "runtime_hooks/c_api/tektite.h"

namespace {

using tektite::serving::Fallback;

#define TEKTITE_FALLBACK(code, status, sentence)                             \
  static_assert(static_cast<int>(Fallback::code) == TEKTITE_FALLBACK_##code, \
                "tektite_fallback has the codes of fallback_list.inc, in its order");
#include "jit/serving/fallback_list.inc"
#undef TEKTITE_FALLBACK

constexpr char kReasons[] =
#define TEKTITE_REASON(code, sentence) #code "\t" sentence "\n"
#include "clustering/reason_list.inc"
#undef TEKTITE_REASON
#define TEKTITE_FALLBACK(code, status, sentence) #code "\t" sentence "\n"
#include "jit/serving/fallback_list.inc"
#undef TEKTITE_FALLBACK
    ;

}  // namespace

extern "C" {

int32_t tektite_fallback_of(int32_t code) {
  return static_cast<int32_t>(tektite::serving::FallbackOf(static_cast<absl::StatusCode>(code)));
}

const char* tektite_fallback_code(int32_t fallback) {
  return tektite::serving::FallbackCode(static_cast<Fallback>(fallback));
}

char* tektite_list_reasons(void) {
  return tektite::c_api::GuardedText(nullptr,
                                     []() -> absl::StatusOr<std::string> { return kReasons; });
}

}  // extern "C"
