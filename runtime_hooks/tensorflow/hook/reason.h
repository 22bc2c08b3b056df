// Why TensorFlow's kernels run a call, or no cluster is put into a graph.
//
//   Reason why = Reason::HOST_CYCLE;                    // the hook's own
//   why = OfCompiler(TEKTITE_FALLBACK_NO_CODE);         // what the compiler answered
//   CodeOf(why)                                         // "NO_CODE", the key of statistics
//
// docs/reasons.md says what each means.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_REASON_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_REASON_H_

#include <cstdint>

#include "runtime_hooks/c_api/tektite.h"

namespace tektite::tf_hook {

// The numbers of tektite_fallback are the compiler's reasons, those from kFirst on the hook's own.
enum class Reason : int32_t {
  NONE = TEKTITE_FALLBACK_NONE,
  kFirst = 1000,
#define TEKTITE_HOST_REASON(code, sentence) code,
#include "runtime_hooks/tensorflow/reasons/host_reason_list.inc"
#undef TEKTITE_HOST_REASON
};

inline Reason OfCompiler(int32_t fallback) { return static_cast<Reason>(fallback); }

// A literal.  There is a compiler: its absence is no reason.
const char* CodeOf(Reason why);

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_REASON_H_
