// Runs LLVM code so that llvm::report_fatal_error comes back as a status instead of ending the
// host.
//
// LLVM reports states that it holds for impossible ("Cannot select: ...") through one process-wide
// handler that must not return.  Ours jumps back to the call; what LLVM had allocated in between is
// leaked, which is the price of a defect, paid once per defect.  So `f` must touch nothing that
// outlives a failed compile (its own LLVMContext, TargetMachine and module only), and hold no lock.
//
//   absl::Status status = CatchFatalErrors([&] { object = EmitModule(kernel, target, dump_dir); });
#ifndef TEKTITE_JIT_LLVM_FATAL_ERROR_H_
#define TEKTITE_JIT_LLVM_FATAL_ERROR_H_

#include <functional>

#include "absl/status/status.h"

namespace tektite::loop {

absl::Status CatchFatalErrors(const std::function<void()>& f);

}  // namespace tektite::loop

#endif  // TEKTITE_JIT_LLVM_FATAL_ERROR_H_
