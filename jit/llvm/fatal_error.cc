#include "jit/llvm/fatal_error.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "jit/base/status.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

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

void OnDiagnostic(const llvm::DiagnosticInfo* diagnostic, void*) {
  if (diagnostic->getSeverity() != llvm::DS_Error) return;
  std::string message;
  llvm::raw_string_ostream stream(message);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  diagnostic->print(printer);
  OnFatalError(nullptr, message.c_str(), false);
}

}  // namespace

void CatchDiagnostics(llvm::LLVMContext* context) {
  context->setDiagnosticHandlerCallBack(OnDiagnostic);
}

absl::Status CatchFatalErrors(const std::function<void()>& f) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(OnFatalError);
    llvm::install_bad_alloc_error_handler(OnFatalError);
  });
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
