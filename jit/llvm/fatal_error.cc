#include "jit/llvm/fatal_error.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "jit/base/status.h"
#include "llvm/Support/ErrorHandling.h"

namespace tektite::loop {

namespace {

struct Landing {
  jmp_buf where;
  std::string message;
};
thread_local Landing* landing = nullptr;

void OnFatalError(void*, const char* reason, bool) {
  if (landing == nullptr) {
    // Outside any compile: nothing to go back to.
    std::fprintf(stderr, "tektite: LLVM: %s\n", reason);
    std::abort();
  }
  landing->message = reason;
  std::longjmp(landing->where, 1);
}

}  // namespace

absl::Status CatchFatalErrors(const std::function<void()>& f) {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(OnFatalError); });
  Landing here;
  Landing* const outer = landing;
  landing = &here;
  if (setjmp(here.where) == 0) {
    f();
    landing = outer;
    return absl::OkStatus();
  }
  landing = outer;
  return Internal("LLVM: ", here.message);
}

}  // namespace tektite::loop
