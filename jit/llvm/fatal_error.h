// Runs LLVM code so that llvm::report_fatal_error comes back as a status instead of ending the
// host.
//
// LLVM reports states that it holds for impossible ("Cannot select: ..."), and memory that it does
// not get, through process-wide handlers that must not return.  Ours jumps back to the call; what
// LLVM had allocated in between is leaked, which is the price of a defect, paid once per defect. So
// `f` must touch nothing that outlives a failed compile (its own LLVMContext, TargetMachine and
// module only), and hold no lock.
//
//   absl::Status status = CatchFatalErrors([&] {
//     llvm::LLVMContext context;
//     CatchDiagnostics(&context);
//     ...
//   });
#ifndef TEKTITE_JIT_LLVM_FATAL_ERROR_H_
#define TEKTITE_JIT_LLVM_FATAL_ERROR_H_

#include <functional>

#include "absl/status/status.h"

namespace llvm {
class LLVMContext;
}  // namespace llvm

namespace tektite::loop {

absl::Status CatchFatalErrors(const std::function<void()>& f);

// For contexts that `f` makes: errors that LLVM reports through one ("ran out of registers") end
// the compile as well.  Without this, LLVM prints them and calls exit.
void CatchDiagnostics(llvm::LLVMContext* context);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_FATAL_ERROR_H_
