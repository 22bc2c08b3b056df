// LLVM's errors as statuses and back.
//
//   if (llvm::Error error = tracker->remove()) return FromLlvm(std::move(error));
//
// Limits: the message is all that crosses over.
#ifndef TEKTITE_BACKENDS_CPU_CODEGEN_LLVM_ERROR_H_
#define TEKTITE_BACKENDS_CPU_CODEGEN_LLVM_ERROR_H_

#include <string>
#include <utility>

#include "jit/base/status.h"
#include "llvm/Support/Error.h"

namespace tektite::cpu {

// Internal; OK for success.
inline absl::Status FromLlvm(llvm::Error error) {
  if (!error) return absl::OkStatus();
  return Internal("LLVM: ", llvm::toString(std::move(error)));
}

inline llvm::Error ToLlvm(const absl::Status& status) {
  if (status.ok()) return llvm::Error::success();
  return llvm::make_error<llvm::StringError>(std::string(status.message()),
                                             llvm::inconvertibleErrorCode());
}

}  // namespace tektite::cpu

#endif  // TEKTITE_BACKENDS_CPU_CODEGEN_LLVM_ERROR_H_
