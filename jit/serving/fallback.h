// Why the host's own kernels ran instead of a cluster: fallback_list.inc as code.
//
//   FallbackOf(absl::StatusCode::kUnimplemented)    // Fallback::NO_CODE
//   FallbackCode(Fallback::NO_CODE)                 // "NO_CODE", the key of statistics
//
// One list has the compiler's reasons and the host's, so that both count under the same keys and
// people find each in one place (docs/reasons.md, `tektite reasons`).  Why a single node is in no
// cluster is clustering's to say (clustering/reason.h).
#ifndef TEKTITE_JIT_SERVING_FALLBACK_H_
#define TEKTITE_JIT_SERVING_FALLBACK_H_

#include <cstdint>

#include "absl/status/status.h"

namespace tektite::serving {

enum class Fallback : int32_t {
  NONE,
#define TEKTITE_FALLBACK(code, status, sentence) code,
#include "jit/serving/fallback_list.inc"
#undef TEKTITE_FALLBACK
};

// Of a call that ended with this code; one that the list does not have is a defect.
Fallback FallbackOf(absl::StatusCode code);

// A literal; null for a number that is no fallback.
const char* FallbackCode(Fallback fallback);

}  // namespace tektite::serving

#endif  // TEKTITE_JIT_SERVING_FALLBACK_H_
