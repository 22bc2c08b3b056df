// Function runtimes on a CPU device of the hook's own, which is never destroyed.
//
// Why: the runtime that a kernel meets goes with its session or its iterator, and every function
// instantiated in it.  A fallback that must outlive it, since it serves one iterator after the
// other, needs a runtime elsewhere.
//
//   if (OwnRuntime::Fits(context)) {
//     TF_ASSIGN_OR_RETURN(OwnRuntime own, OwnRuntime::Create(context->function_library(), name));
//     own.runtime->Instantiate(name, ...);
//   }
//
// Limits: only for functions that neither refer to resources nor call other functions.
#ifndef TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_OWN_RUNTIME_H_
#define TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_OWN_RUNTIME_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tensorflow/core/common_runtime/process_function_library_runtime.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tektite::tf_hook {

struct OwnRuntime {
  std::unique_ptr<tensorflow::FunctionLibraryDefinition> functions;
  std::unique_ptr<tensorflow::ProcessFunctionLibraryRuntime> process;
  tensorflow::FunctionLibraryRuntime* runtime = nullptr;  // of `process`

  // Whether kernels run there as they do in `context`: with the same threads.
  static bool Fits(tensorflow::OpKernelContext* context);
  // A runtime that knows only `function`, of `caller`'s library.
  static absl::StatusOr<OwnRuntime> Create(tensorflow::FunctionLibraryRuntime* caller,
                                           const std::string& function);
};

}  // namespace tektite::tf_hook
#endif  // TEKTITE_RUNTIME_HOOKS_TENSORFLOW_HOOK_FALLBACK_OWN_RUNTIME_H_
