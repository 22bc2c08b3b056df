#include "runtime_hooks/tensorflow/hook/reason.h"

#include "runtime_hooks/tensorflow/hook/compiler_library.h"

namespace tektite::tf_hook {

const char* CodeOf(Reason why) {
  switch (why) {
#define TEKTITE_HOST_REASON(code, sentence) \
  case Reason::code:                        \
    return #code;
#include "runtime_hooks/tensorflow/reasons/host_reason_list.inc"
#undef TEKTITE_HOST_REASON
    default:
      return CompilerLibrary::Get()->fallback_code(static_cast<int32_t>(why));
  }
}

}  // namespace tektite::tf_hook

// For the Python package: the codes of the hook alone, a line each, with a tab and a sentence.
extern "C" __attribute__((visibility("default"))) const char* tektite_hook_reasons() {
  return
#define TEKTITE_HOST_REASON(code, sentence) #code "\t" sentence "\n"
#include "runtime_hooks/tensorflow/reasons/host_reason_list.inc"
#undef TEKTITE_HOST_REASON
      ;
}
